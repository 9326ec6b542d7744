import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Stage } from '../bench/support/stage.ts'
import { type EmbeddedPostgres, startEmbedded } from '../packages/server/src/db/embedded/start.ts'
import { freePorts } from '../scripts/free-ports.ts'

// PostgreSQL as a server with TCP, as others would run it for the service.

export type Postgres = {
  port: number
  /** How clients find it, at its own port or at that of something in front of it. */
  urlAt(port: number): string
  /** SIGKILL; it is started again after a while. */
  kill(downMs: number): Promise<void>
}

export async function startPostgres(stage: Stage): Promise<Postgres> {
  const dir = join(stage.dir, 'postgres')
  await mkdir(dir)
  const [port = 0] = await freePorts(1)
  const start = () => startEmbedded(dir, { listenTcpPort: port, waitMs: 60_000 })
  let running: EmbeddedPostgres = await start()
  stage.onEnd(() => running.stop())
  const { user, database } = running.connection
  return {
    port,
    urlAt: (at) => `postgres://${user}@127.0.0.1:${at}/${database}`,
    async kill(downMs) {
      process.kill(running.pid, 'SIGKILL')
      await running.exited
      await delay(downMs)
      running = await start()
    },
  }
}
