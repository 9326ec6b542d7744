import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { sharedEnv } from '../../soak/cluster.ts'
import { listObjects, type ObjectStore, openObjectStore } from '../../soak/object-store.ts'
import { startPostgres } from '../../soak/postgres.ts'
import { startProcess } from './process.ts'
import { mainPath, READY, type Service, serviceEnv } from './service.ts'
import type { Stage } from './stage.ts'

/** The service on a PostgreSQL over TCP and on an S3-compatible store, in a process of its own. */
export type SharedService = Service & { store: ObjectStore }

export async function startSharedService(stage: Stage): Promise<SharedService> {
  const [postgres, store] = await Promise.all([startPostgres(stage), openObjectStore(stage)])
  const dataDir = join(stage.dir, 'shared-service')
  await mkdir(dataDir)
  const databaseUrl = postgres.urlAt(postgres.port)
  const env = { ...serviceEnv(dataDir), ...sharedEnv(databaseUrl, store.settings) }
  const running = await startProcess(stage, [mainPath], READY, env)
  const [url = '', key = ''] = running.found
  return { ...running, url, key, dataDir, databaseUrl, store }
}

/** Where a bench ran that can run on several stores. */
export function storeOf({ store }: SharedService, name: string): { name: string; repeat: string } {
  const bench = `npm run bench -- ${name}`
  const repeat = store.process ? bench : `npm run test:ceph -- ${store.name.toLowerCase()} -- ${bench}`
  return { name: store.name, repeat }
}

/** Objects are removed by a job; it must not run into what is timed next. */
export async function untilNoObjects({ store }: SharedService): Promise<void> {
  const deadlineMs = performance.now() + 60_000
  while ((await listObjects(store.settings)).length > 0) {
    if (performance.now() > deadlineMs) throw new Error('the bucket was not emptied')
    await sleep(50)
  }
}
