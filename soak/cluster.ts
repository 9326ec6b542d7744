import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { mainPath } from '../bench/support/service.ts'
import type { Stage } from '../bench/support/stage.ts'
import type { S3Settings } from '../packages/server/src/storage/s3/client.ts'
import { openTcpProxy, type TcpProxy } from '../packages/server/test/support/cluster/tcp-proxy.ts'
import { s3Env } from '../packages/server/test/support/s3.ts'
import { freePorts } from '../scripts/free-ports.ts'
import { type Supervised, supervise } from './supervised.ts'

// The service on several machines, all of them this one: API nodes behind a balancer, and workers, each a process of its
// own.

export type Cluster = {
  /** The balancer in front of the API nodes. */
  url: string
  /** Read and write, of the organisation `default`. */
  key: string
  /** Each API node by itself. */
  apiUrls: string[]
  api: Supervised[]
  workers: Supervised[]
  balancer: TcpProxy
}

/** What the nodes have in common. */
export type Shared = { databaseUrl: string; bucket: S3Settings }

type Settings = {
  env?: NodeJS.ProcessEnv
  onLine?: (node: string, line: string) => void
  workers?: number
}

const API_NODES = 2
const WORKERS = 2
const READY = /Tapedeck is ready\.([\s\S]*)\n\n$/

/** What every node of a cluster is configured with. */
export function sharedEnv({ databaseUrl, bucket }: Shared): NodeJS.ProcessEnv {
  return {
    DATABASE_URL: databaseUrl,
    TAPEDECK_SECRET: 'a secret that only this run uses, and nobody else',
    TAPEDECK_RATE_LIMIT: '1000000000',
    TAPEDECK_LOG_LEVEL: 'warn',
    ...s3Env(bucket),
  }
}

export async function openCluster(stage: Stage, on: Shared, settings: Settings = {}): Promise<Cluster> {
  const { env = {}, onLine = () => {}, workers = WORKERS } = settings
  const ports = await freePorts(API_NODES + workers)
  const apiPorts = ports.slice(0, API_NODES)
  const balancer = await openTcpProxy(stage, apiPorts)
  const url = `http://127.0.0.1:${balancer.port}`
  const shared = { ...sharedEnv(on), TAPEDECK_BASE_URL: url, ...env }
  const start = async (role: 'api' | 'worker', index: number): Promise<Supervised> => {
    const name = `${role} ${index + 1}`
    const dataDir = join(stage.dir, name.replace(' ', '-'))
    await mkdir(dataDir)
    const port = ports[role === 'api' ? index : API_NODES + index]
    return supervise(stage, {
      name,
      args: [mainPath],
      env: { ...shared, TAPEDECK_ROLE: role, TAPEDECK_PORT: String(port), TAPEDECK_DATA_DIR: dataDir },
      readyWhen: READY,
      onLine: (line) => onLine(name, line),
    })
  }
  // The first makes the tables and the first key.
  const first = await start('api', 0)
  const [said = ''] = await first.ready()
  const key = /^ {2}(svc_live_\S+)$/m.exec(said)?.[1]
  if (!key) throw new Error(`the first node shows no key: ${said}`)
  const others = await Promise.all([
    ...Array.from({ length: API_NODES - 1 }, (_, index) => start('api', index + 1)),
    ...Array.from({ length: workers }, (_, index) => start('worker', index)),
  ])
  await Promise.all(others.map((node) => node.ready()))
  return {
    url,
    key,
    apiUrls: apiPorts.map((port) => `http://127.0.0.1:${port}`),
    api: [first, ...others.slice(0, API_NODES - 1)],
    workers: others.slice(API_NODES - 1),
    balancer,
  }
}
