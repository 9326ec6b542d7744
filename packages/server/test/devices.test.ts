import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Calibration, DeviceList, ErrorBody, Session, SiteList } from '@tapedeck/contract'
import { call, complete, followSession, uploadAll } from './support/client.ts'
import { type Service, startService } from './support/service.ts'

let service: Service
before(async () => {
  service = await startService()
})
after(() => service.close())

/** A table of times at a rate, for some seconds. */
function table(rateHz: number, seconds = 10): Uint8Array<ArrayBuffer> {
  const start = BigInt(Date.UTC(2026, 2, 14)) * 1_000_000n
  const rows = Array.from(
    { length: rateHz * seconds },
    (_, tick) => `${start + BigInt(Math.round((tick * 1e9) / rateHz))},1,2`,
  )
  return new TextEncoder().encode(`#timestamp [ns],a,b\n${rows.join('\n')}\n`)
}

async function process(
  bytes: Uint8Array<ArrayBuffer>,
  device: string,
  filename = 'log.csv',
): Promise<Session> {
  const { session, parts } = await uploadAll(service, bytes, { filename, device, site: `site of ${device}` })
  await complete(service, session.id, parts)
  return followSession(service, session.id)
}

const put = <T>(device: string, body: unknown, key = service.key) =>
  call<T>(service.url, 'PUT', `/v1/devices/${encodeURIComponent(device)}/calibration`, { key, body })

test('devices and sites are listed by name with what was recorded, page by page', async () => {
  for (const device of ['c', 'a', 'b']) await process(table(10), device)
  const names: string[] = []
  for (let cursor = ''; ; ) {
    const { body } = await call<DeviceList>(service.url, 'GET', `/v1/devices?limit=2${cursor}`, {
      key: service.key,
    })
    names.push(...body.data.map(({ name }) => name))
    if (body.next_cursor === null) break
    cursor = `&cursor=${body.next_cursor}`
  }
  assert.deepEqual(names, ['a', 'b', 'c'])
  const sites = await call<SiteList>(service.url, 'GET', '/v1/sites', { key: service.key })
  assert.deepEqual(
    sites.body.data.map(({ name, session_count }) => [name, session_count]),
    [
      ['site of a', 1],
      ['site of b', 1],
      ['site of c', 1],
    ],
  )
})

test('a calibration names channels, sets rates, and its version is told', async () => {
  const first = await process(table(50), 'arm/left')
  const [topic] = await topicsOf(first.id)
  const stored = await put<Calibration>('arm/left', {
    channels: [{ source: topic, name: 'joints/left', rate_hz: 100 }],
  })
  assert.deepEqual([stored.status, stored.body.version], [200, 1])
  const session = await process(table(50), 'arm/left')
  assert.deepEqual(session.channels, ['joints/left'])
  const codes = session.issues.map(({ code, channel }) => [code, channel])
  assert.deepEqual(codes, [
    ['rate_deviation', 'joints/left'],
    ['calibration_applied', ''],
  ])
  const again = await put<Calibration>('arm/left', { channels: [] })
  assert.equal(again.body.version, 2)
  const { body } = await call<Calibration>(service.url, 'GET', '/v1/devices/arm%2Fleft/calibration', {
    key: service.key,
  })
  assert.deepEqual(body, again.body)
})

async function topicsOf(sessionId: string): Promise<string[]> {
  const { body } = await call<{ data: { source: string }[] }>(
    service.url,
    'GET',
    `/v1/sessions/${sessionId}/channels`,
    {
      key: service.key,
    },
  )
  return body.data.map(({ source }) => source)
}

test('a channel that a calibration names and the recording lacks is missed', async () => {
  await put('rover', { channels: [{ source: '/camera/front' }] })
  const session = await process(table(10), 'rover')
  const missing = session.issues.find(({ code }) => code === 'channel_missing')
  assert.match(missing?.detail ?? '', /\/camera\/front/)
})

test('a wrong calibration is refused at the field', async () => {
  const wrong: [unknown, string][] = [
    [{ channels: [{ source: 'a', name: 'Camera' }] }, 'channels[0].name'],
    [{ channels: [{ source: 'a' }, { source: 'a' }] }, 'channels[1].source'],
    [{ channels: [{ source: 'a', rate_hz: 0 }] }, 'channels[0].rate_hz'],
    [
      { channels: [{ source: 'a', intrinsics: { width: 1, height: 1, k: [1], d: [], model: 'x' } }] },
      'channels[0].intrinsics.k',
    ],
    [{ channels: [{ source: 'a', colour: 'red' }] }, 'channels[0].colour'],
    [{ channels: 'none' }, 'channels'],
    [{}, 'channels'],
  ]
  for (const [body, param] of wrong) {
    const answer = await put<ErrorBody>('x', body)
    assert.deepEqual([answer.status, answer.body.error.param], [400, param], JSON.stringify(body))
  }
})

test('a calibration belongs to its organisation, and storing one needs write', async () => {
  await put('shared-name', { channels: [{ source: 'a' }] })
  const rival = await service.makeKey({ organisation: 'rivals' })
  const unseen = await call<ErrorBody>(service.url, 'GET', '/v1/devices/shared-name/calibration', {
    key: rival,
  })
  assert.deepEqual([unseen.status, unseen.body.error.code], [404, 'device_not_found'])
  const reader = await service.makeKey({ permissions: ['read'] })
  assert.equal((await put('shared-name', { channels: [] }, reader)).status, 403)
})
