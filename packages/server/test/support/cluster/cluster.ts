import { freePorts } from '../../../../../scripts/free-ports.ts'
import type { S3Settings } from '../../../src/storage/s3/client.ts'
import { tempDir } from '../../embedded/temp-dir.ts'
import type { Ending } from '../ending.ts'
import { commands, type RunningService, startProcess } from '../process.ts'
import { s3Env } from '../s3.ts'
import type { PostgresServer } from './postgres.ts'
import type { StoreServer } from './store.ts'
import { openTcpProxy } from './tcp-proxy.ts'

// Nodes as processes of their own on one PostgreSQL and one store, with nothing else in common. Clients reach the API
// nodes that live at one address, as behind a load balancer.

export type Role = 'api' | 'worker'

export type Member = {
  role: Role
  /** Its own address, past the balancer. */
  url(): string
  /** The process as it runs now. */
  process(): RunningService
  /** Ends it without a warning; returns when it is gone. */
  kill(): Promise<void>
  /** Starts it again, as its supervisor would: again and again until it stays. */
  revive(): Promise<void>
}

export type Cluster = {
  /** Of the balancer. */
  url: string
  key: string
  databaseUrl: string
  bucket: S3Settings
  /** Where nodes put what they need for a moment. */
  tempDir: string
  /** The API node that was there first. */
  first: Member
  start(role: Role, env?: Record<string, string>, command?: string[]): Promise<Member>
}

type Settings = { postgres: PostgresServer; store: StoreServer; env?: Record<string, string> }

const REVIVED_WITHIN_MS = 60_000

/** With one API node; others are started as they are needed. */
export async function openCluster(t: Ending, { postgres, store, env = {} }: Settings): Promise<Cluster> {
  const apiPorts = new Set<number>()
  const balancer = await openTcpProxy(t, apiPorts)
  const url = `http://127.0.0.1:${balancer.port}`
  const databaseUrl = postgres.overNetwork(await postgres.createDatabase())
  const bucket = store.bucket()
  const nodesTemp = tempDir(t)
  const shared = {
    DATABASE_URL: databaseUrl,
    TAPEDECK_SECRET: 'a secret that only the tests use, and all of them',
    TAPEDECK_BASE_URL: url,
    TAPEDECK_WEBHOOK_RETRY_SCALE: '0.01',
    TMPDIR: nodesTemp,
    ...s3Env(bucket),
    ...env,
  }

  async function start(
    role: Role,
    more: Record<string, string> = {},
    command = commands.service,
  ): Promise<Member> {
    const dataDir = tempDir(t)
    const [port = 0] = await freePorts(1)
    let running = await run()

    async function run(): Promise<RunningService> {
      const own = { TAPEDECK_ROLE: role, TAPEDECK_PORT: String(port) }
      const started = await startProcess(t, { dataDir, command, env: { ...shared, ...own, ...more } })
      if (role === 'api') apiPorts.add(port)
      // A balancer notices, too.
      void started.exited.then(() => apiPorts.delete(port))
      return started
    }

    return {
      role,
      url: () => `http://127.0.0.1:${port}`,
      process: () => running,
      async kill() {
        apiPorts.delete(port)
        running.kill('SIGKILL')
        await running.exited
      },
      async revive() {
        const deadlineMs = Date.now() + REVIVED_WITHIN_MS
        for (;;) {
          try {
            running = await run()
            return
          } catch (error) {
            if (Date.now() > deadlineMs) throw error
          }
        }
      },
    }
  }

  const first = await start('api')
  const { key = '' } = first.process()
  return { url, key, databaseUrl, bucket, tempDir: nodesTemp, first, start }
}
