import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { objectsOf } from '../../packages/server/test/support/s3.ts'
import { sharedEnv } from '../../soak/cluster.ts'
import { type Foundation, openFoundation } from '../../soak/foundation.ts'
import { startProcess } from './process.ts'
import { mainPath, READY, type Service, serviceEnv } from './service.ts'
import type { Stage } from './stage.ts'

/** The service on a PostgreSQL over TCP and on an S3-compatible store, in a process of its own. */
export type SharedService = Service & Foundation

export async function startSharedService(stage: Stage): Promise<SharedService> {
  const foundation = await openFoundation(stage)
  const dataDir = join(stage.dir, 'shared-service')
  await mkdir(dataDir)
  const env = { ...serviceEnv(dataDir), ...sharedEnv(foundation) }
  const running = await startProcess(stage, [mainPath], READY, env)
  const [url = '', key = ''] = running.found
  return { ...running, ...foundation, url, key, dataDir }
}

/** Where a bench ran that can run on several stores. */
export function storeOf({ store }: SharedService, name: string): { name: string; repeat: string } {
  const bench = `npm run bench -- ${name}`
  const repeat = store.process ? bench : `npm run test:ceph -- ${store.name.toLowerCase()} -- ${bench}`
  return { name: store.name, repeat }
}

/** Objects are removed by a job; it must not run into what is timed next. */
export async function untilNoObjects({ bucket }: SharedService): Promise<void> {
  const deadlineMs = performance.now() + 60_000
  while ((await objectsOf(bucket)).length > 0) {
    if (performance.now() > deadlineMs) throw new Error('the bucket was not emptied')
    await sleep(50)
  }
}
