import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { inflateRawSync } from 'node:zlib'
import { thresholds } from '@tapedeck/analysis'
import type { ChannelList, ErrorBody, Segment, SegmentList, Session, Timeline } from '@tapedeck/contract'
import { call, complete, followSession, uploadAll } from './support/client.ts'
import { type Service, startService } from './support/service.ts'

// A recording from its bytes to what the API says of it. The file is a table of times, which needs no library to make.

let service: Service
before(async () => {
  service = await startService()
})
after(() => service.close())

const START_MS = Date.UTC(2026, 2, 14, 9, 0, 0)

/** An inertial sensor at 100 Hz, silent from second 20 to 23. */
function imuTable(seconds = 60): Uint8Array<ArrayBuffer> {
  const lines = [
    '#timestamp [ns],w_x [rad s^-1],w_y [rad s^-1],w_z [rad s^-1],a_x [m s^-2],a_y [m s^-2],a_z [m s^-2]',
  ]
  for (let tick = 0; tick <= seconds * 100; tick++) {
    if (tick > 2000 && tick < 2300) continue
    lines.push(`${BigInt(START_MS) * 1_000_000n + BigInt(tick) * 10_000_000n},0.01,0.02,0.03,0.1,0.2,9.81`)
  }
  return new TextEncoder().encode(`${lines.join('\n')}\n`)
}

async function process(
  bytes: Uint8Array<ArrayBuffer>,
  filename: string,
  more: object = {},
): Promise<Session> {
  const { session, parts } = await uploadAll(service, bytes, { filename, ...more })
  assert.equal((await complete(service, session.id, parts)).status, 200)
  return followSession(service, session.id)
}

const get = <T>(path: string) => call<T>(service.url, 'GET', path, { key: service.key })

test('a recording becomes channels, times, issues, segments and a timeline', async () => {
  const session = await process(imuTable(), 'imu0.csv', {
    site: 'hall',
    device: 'amr-07',
    notes: 'after the wheel change',
  })
  assert.equal(session.status, 'processed')
  assert.equal(session.recorded_at, '2026-03-14T09:00:00.000Z')
  assert.equal(session.duration_s, 60)
  assert.equal(session.segment_count, 2)
  const gap = session.issues.find(({ code }) => code === 'message_gap')
  assert.equal(gap?.value, 3e9)
  assert.equal(gap?.channel, session.channels[0])

  const channels = await get<ChannelList>(`/v1/sessions/${session.id}/channels`)
  const [channel] = channels.body.data
  assert.deepEqual([channel?.message_count, channel?.largest_gap_ns], [5702, 3e9])
  assert.ok(Math.abs((channel?.rate_hz ?? 0) - 100) < 1)
  assert.deepEqual(
    channel?.issues.map(({ code }) => code),
    ['message_gap'],
  )

  const timeline = await get<Timeline>(`/v1/sessions/${session.id}/timeline`)
  const counts = timeline.body.channels[0]?.counts ?? []
  assert.equal(counts.length, 2_000)
  assert.equal(
    counts.reduce((sum, count) => sum + count, 0),
    5702,
  )
  const packed = await get<Timeline>(`/v1/sessions/${session.id}/timeline?counts=packed`)
  const fine = inflateRawSync(Buffer.from(packed.body.packed ?? '', 'base64'))
  assert.equal(packed.body.bin_count, thresholds.timelineBins)
  assert.equal(fine.length, packed.body.channels.length * packed.body.bin_count * 4)
  const firstFine = Array.from({ length: packed.body.bin_count }, (_, bin) => fine.readUInt32LE(bin * 4))
  assert.equal(
    firstFine.reduce((sum, count) => sum + count, 0),
    5702,
  )

  const segments = await get<SegmentList>(`/v1/segments?session=${session.id}`)
  assert.deepEqual(
    segments.body.data.map(({ index, duration_s, issues }) => [index, duration_s, issues]),
    [
      [0, 30, ['message_gap']],
      [1, 30, []],
    ],
  )
  const [first] = segments.body.data
  const one = await get<Segment>(`/v1/segments/${first?.id}`)
  assert.deepEqual(one.body, first)
})

test('nanoseconds are exact on the wire', async () => {
  const session = await process(imuTable(), 'exact.csv')
  const response = await fetch(`${service.url}/v1/sessions/${session.id}/channels`, {
    headers: { Authorization: `Bearer ${service.key}` },
  })
  const text = await response.text()
  assert.match(text, new RegExp(`"first_t_ns":${BigInt(START_MS) * 1_000_000n},`))
  assert.match(text, new RegExp(`"last_t_ns":${BigInt(START_MS) * 1_000_000n + 60_000_000_000n},`))
})

test('segments of one session come in the order of time, page after page', async () => {
  const session = await process(imuTable(600), 'long.csv')
  const indexes: number[] = []
  for (let cursor = ''; ; ) {
    const page = await get<SegmentList>(`/v1/segments?session=${session.id}&limit=7${cursor}`)
    indexes.push(...page.body.data.map(({ index }) => index))
    if (!page.body.next_cursor) break
    cursor = `&cursor=${page.body.next_cursor}`
  }
  assert.deepEqual(
    indexes,
    Array.from({ length: 20 }, (_, index) => index),
  )
})

test('segments are found by what is in them and around them', async () => {
  const session = await process(imuTable(), 'search me.csv', {
    site: 'yard',
    device: 'scout',
    notes: 'frosty morning',
  })
  const name = session.channels[0] ?? ''
  const found = async (query: string) => (await get<SegmentList>(`/v1/segments?limit=500&${query}`)).body.data
  for (const query of [
    'site=yard',
    'device=scout',
    'text=frosty',
    'text=search+me',
    `channel=${encodeURIComponent(name)}&site=yard`,
    'site=yard&recorded[gte]=2026-03-14T09:00:00Z&recorded[lt]=2026-03-14T09:01:00Z',
    'site=yard&duration[gte]=30&duration[lt]=30.5',
  ]) {
    const ids = new Set((await found(query)).map((segment) => segment.session))
    assert.deepEqual([...ids], [session.id], query)
  }
  assert.equal((await found('site=yard&issue=message_gap')).length, 1)
  assert.equal((await found('site=yard&severity=warning')).length, 1)
  assert.equal((await found('site=yard&kind=camera')).length, 0)
  assert.equal((await found('site=yard&text=sunny')).length, 0)
})

test('a file that nobody knows fails with the issue that says so, and tells its first bytes', async () => {
  const session = await process(new TextEncoder().encode('what is this?'), 'thing.xyz')
  assert.equal(session.status, 'failed')
  assert.equal(session.issues[0]?.code, 'format_unsupported')
  const { status, body } = await get<ErrorBody>(`/v1/sessions/${session.id}/timeline`)
  assert.deepEqual([status, body.error.code], [409, 'not_processed'])
})

test('a recording can be processed again, and gets the same answer', async () => {
  const session = await process(imuTable(), 'again.csv')
  const again = await call<Session>(service.url, 'POST', `/v1/sessions/${session.id}/reprocess`, {
    key: service.key,
  })
  assert.deepEqual([again.status, again.body.status], [200, 'processing'])
  const final = await followSession(service, session.id)
  const { processed_at: _, ...before } = session
  const { processed_at: __, ...after } = final
  assert.deepEqual(after, before)
})

test('deleting a session takes its channels, segments and timeline with it', async () => {
  const session = await process(imuTable(), 'gone.csv', { site: 'nowhere' })
  await call(service.url, 'DELETE', `/v1/sessions/${session.id}`, { key: service.key })
  assert.deepEqual((await get<SegmentList>('/v1/segments?site=nowhere')).body.data, [])
  for (const table of ['channels', 'timelines', 'segments'] as const) {
    const rows = await service.database.db
      .selectFrom(table)
      .select('session_id')
      .where('session_id', '=', session.id)
      .execute()
    assert.deepEqual(rows, [], table)
  }
})

test('what one organisation recorded is not found by another', async () => {
  await process(imuTable(), 'secret.csv', { site: 'vault' })
  const key = await service.makeKey({ organisation: 'rivals' })
  const { body } = await call<SegmentList>(service.url, 'GET', '/v1/segments', { key })
  assert.deepEqual(body.data, [])
})

test('page by page, every search gives each segment once, in the order of the whole', async () => {
  for (const n of [1, 2, 3])
    await process(imuTable(), `lap ${n}.csv`, { site: 'track', notes: 'round and round' })
  const search = (query: string) => get<SegmentList>(`/v1/segments?${query}`)
  const [first] = (await search('site=track')).body.data
  const channel = encodeURIComponent(first?.channels[0]?.name ?? '')
  for (const query of [
    'site=track',
    `channel=${channel}&site=track`,
    'kind=imu&site=track',
    'issue=message_gap&site=track',
    'severity=warning&site=track',
    'text=round',
    'site=track&recorded[gte]=2026-03-14T09:00:00Z',
    'site=track&duration[gte]=1',
  ]) {
    const whole = (await search(`${query}&limit=500`)).body.data.map(({ id }) => id)
    const pages: string[] = []
    for (let cursor: string | null = ''; cursor !== null; ) {
      const { body }: { body: SegmentList } = await search(`${query}&limit=1${cursor && `&cursor=${cursor}`}`)
      pages.push(...body.data.map(({ id }) => id))
      cursor = body.next_cursor
    }
    assert.deepEqual(pages, whole, query)
    assert.equal(whole.length, /issue|severity/.test(query) ? 3 : 6, query)
  }
})
