import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openDatabase } from '../../packages/server/src/db/database.ts'
import { type Connection, findRunning } from '../../packages/server/src/db/embedded/start.ts'
import { setPaused } from '../../packages/server/src/operate/gate.ts'
import { type Running, startProcess } from './process.ts'
import type { Stage } from './stage.ts'

/** The real service in a process of its own, with its embedded PostgreSQL and a fresh data directory. */
export type Service = Running & {
  url: string
  key: string
  dataDir: string
  /** Of another PostgreSQL than the embedded one. */
  databaseUrl?: string
}

/** The address, and the key that is shown only on the first start. */
export const READY = /API +(\S+)\/v1\n.*\n {2}(svc_live_\w{32})\n/s

export const mainPath = fileURLToPath(new URL('../../packages/server/src/main.ts', import.meta.url))

export async function startService(stage: Stage, name = 'service'): Promise<Service> {
  const dataDir = join(stage.dir, name)
  await mkdir(dataDir)
  const running = await startProcess(stage, [mainPath], READY, serviceEnv(dataDir))
  const [url = '', key = ''] = running.found
  return { ...running, url, key, dataDir }
}

export function serviceEnv(dataDir: string): NodeJS.ProcessEnv {
  return {
    DATABASE_URL: '',
    TAPEDECK_PORT: '0',
    TAPEDECK_DATA_DIR: dataDir,
    TAPEDECK_RATE_LIMIT: '1000000000',
    TAPEDECK_LOG_LEVEL: 'warn',
  }
}

/** Keeps the processing of one round out of the time of the next. */
export async function pauseProcessing(service: Service): Promise<void> {
  const { db, close } = openDatabase(await connectionOf(service))
  await setPaused(db, true)
  await close()
}

export async function connectionOf({ databaseUrl, dataDir }: Service) {
  return databaseUrl === undefined ? databaseOf(dataDir) : { connectionString: databaseUrl }
}

/** How to reach the embedded PostgreSQL of a running service. */
export async function databaseOf(dataDir: string): Promise<Connection> {
  const connection = await findRunning(dataDir)
  if (!connection) throw new Error(`no PostgreSQL runs in ${dataDir}`)
  return connection
}

/** One call of the API outside of what is timed finely; anything but a success is an error. */
export async function call<T>(service: Service, method: string, path: string, body?: unknown): Promise<T> {
  const response = await fetch(`${service.url}${path}`, {
    method,
    headers: {
      Authorization: `Bearer ${service.key}`,
      ...(body !== undefined && { 'Content-Type': 'application/json' }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  if (!response.ok) throw new Error(`${method} ${path} answered ${response.status} ${text}`)
  return JSON.parse(text)
}
