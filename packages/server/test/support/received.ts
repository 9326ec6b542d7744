import assert from 'node:assert/strict'
import type { Session } from '@tapedeck/contract'
import { call } from './client.ts'
import { filesOf, incomingFiles } from './disk.ts'
import type { Service } from './service.ts'
import { until } from './until.ts'

/** The digests of the parts that a session says it has. */
export async function receivedDigests(service: Service, id: string): Promise<string[]> {
  const { body } = await call<Session>(service.url, 'GET', `/v1/sessions/${id}`, { key: service.key })
  return (body.upload?.received ?? []).map((part) => part.sha256)
}

/** Of what was sent to the session nothing counts and nothing is left on disk. */
export async function assertNothingKept(service: Service, id: string): Promise<void> {
  assert.deepEqual(await receivedDigests(service, id), [])
  assert.deepEqual(await filesOf(service.dataDir, id), [])
  await until('nothing is on its way in', async () => (await incomingFiles(service.dataDir)).length === 0)
}
