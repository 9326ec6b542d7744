import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Session, SessionList } from '@tapedeck/contract'
import { call, complete, followSession, uploadAll } from './support/client.ts'
import { type Service, startService } from './support/service.ts'

let service: Service
let key: string
before(async () => {
  service = await startService()
  key = await service.makeKey({ mode: 'test' })
})
after(() => service.close())

const list = async (from = key) =>
  (await call<SessionList>(service.url, 'GET', '/v1/sessions', { key: from })).body.data

async function samples(): Promise<Map<string, Session>> {
  const deadline = Date.now() + 90_000
  while (Date.now() < deadline) {
    const sessions = await list()
    if (
      sessions.length >= 5 &&
      sessions.every(({ status }) => status === 'processed' || status === 'failed')
    ) {
      return new Map(sessions.map((session) => [session.filename, session]))
    }
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  throw new Error('the samples did not finish')
}

test('a sandbox holds sample recordings, each showing something else', async () => {
  const found = await samples()
  const codes = (name: string) =>
    (found.get(name)?.issues ?? [])
      .filter(({ severity }) => severity !== 'info')
      .map(({ code, channel }) => [code, channel])
  assert.deepEqual(codes('healthy.mcap'), [['index_missing', '']])
  assert.deepEqual(codes('gap-and-offset.mcap'), [
    ['index_missing', ''],
    ['message_gap', 'imu'],
  ])
  assert.deepEqual(
    codes('frozen-stamps.mcap').filter(([code]) => code === 'stamp_frozen'),
    [['stamp_frozen', 'pose/robot']],
  )
  assert.ok(codes('truncated.mcap').some(([code]) => code === 'recording_truncated'))
  assert.equal(found.get('truncated.mcap')?.status, 'processed')
  assert.equal(found.get('not-a-recording.bin')?.status, 'failed')
  const offset = found
    .get('gap-and-offset.mcap')
    ?.issues.find(({ code, channel }) => code === 'clock_offset_estimated' && channel === 'imu')
  assert.ok(Math.abs((offset?.value ?? 0) + 42e6) < 1e6, String(offset?.value))
})

test('the live organisation sees none of them', async () => {
  assert.deepEqual(await list(service.key), [])
})

test('in a sandbox a file name chooses how processing ends', async () => {
  const outcome = async (filename: string, where = { url: service.url, key }) => {
    const { session, parts } = await uploadAll(where, new Uint8Array(100), { filename })
    await complete(where, session.id, parts)
    return followSession(where, session.id)
  }
  const processed = await outcome('tapedeck-processed.bin')
  assert.deepEqual([processed.status, processed.channels, processed.segment_count], ['processed', ['imu'], 1])
  assert.equal((await outcome('tapedeck-failed.bin')).status, 'failed')
  assert.equal(
    (await outcome('tapedeck-processed.bin', service)).status,
    'failed',
    'elsewhere a name is only a name',
  )
})
