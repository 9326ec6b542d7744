import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setPaused } from '../src/operate/gate.ts'
import { complete, createSession, putBytes, putPart, recording, uploadAll, urlOf } from './support/client.ts'
import { type Service, startService } from './support/service.ts'

// Parts may be sent from any page, because the URL is the permission; the API is called only from pages
// that the operator names.

const PAGE = { Origin: 'https://app.example.com' }
const STRANGER = { Origin: 'https://elsewhere.example.com' }
let service: Service
before(async () => {
  service = await startService({ env: { TAPEDECK_CORS_ORIGINS: PAGE.Origin } })
  await setPaused(service.database.db, true)
})
after(() => service.close())

test('a part sent from any page is answered so that the page can read the ETag', async () => {
  const bytes = recording(1)
  const { status, headers } = await putPart(urlOf(await createSession(service, bytes)), bytes, STRANGER)
  assert.equal(status, 200)
  assert.equal(headers.get('access-control-allow-origin'), '*')
  assert.ok(exposed(headers).includes('etag'))
})

test('every refusal of a part can be read by the page too', async () => {
  const bytes = recording(1)
  const { session, parts } = await uploadAll(service, bytes)
  const url = urlOf(session)
  const refusals = [
    await putPart(`${url}A`, bytes, STRANGER),
    await putPart(`${url}&x=%zz`, bytes, STRANGER),
    await putBytes(url, bytes, STRANGER),
    await putPart(url, bytes.slice(1), STRANGER),
    await putPart(url, bytes, { ...STRANGER, 'x-amz-checksum-sha256': Buffer.alloc(32).toString('base64') }),
  ]
  await complete(service, session.id, parts)
  refusals.push(await putPart(url, bytes, STRANGER))
  for (const { status, headers } of refusals) {
    assert.ok(status >= 400)
    assert.equal(headers.get('access-control-allow-origin'), '*')
    assert.ok(exposed(headers).includes('request-id'))
  }
})

test('the preflight of a part allows PUT with its checksum, whatever the word in the header', async () => {
  const url = urlOf(await createSession(service, recording(1)))
  const { status, headers } = await preflight(url, STRANGER, 'PUT', 'content-type,x-goog-checksum-sha256')
  assert.equal(status, 204)
  assert.equal(headers.get('access-control-allow-origin'), '*')
  assert.equal(headers.get('access-control-allow-methods'), 'PUT')
  const allowed = listed(headers, 'access-control-allow-headers')
  for (const name of ['content-type', 'x-amz-checksum-sha256', 'x-goog-checksum-sha256'])
    assert.ok(allowed.includes(name), name)
})

test('the preflight of a part allows no header that nobody needs', async () => {
  const url = urlOf(await createSession(service, recording(1)))
  const { headers } = await preflight(url, STRANGER, 'PUT', 'authorization, x-amz-meta-note')
  const allowed = listed(headers, 'access-control-allow-headers')
  assert.deepEqual(allowed, ['content-type', 'x-amz-checksum-sha256'])
})

test('the API answers a page that the operator named, errors included', async () => {
  for (const path of ['/v1/sessions', '/v1/nothing', '/healthz']) {
    const { headers } = await fetch(`${service.url}${path}`, { headers: PAGE })
    assert.equal(headers.get('access-control-allow-origin'), PAGE.Origin, path)
    assert.equal(headers.get('vary'), 'Origin')
  }
})

test('the preflight of the API allows what the contract sends', async () => {
  const asked = 'authorization,content-type,idempotency-key'
  const { status, headers } = await preflight(`${service.url}/v1/sessions`, PAGE, 'POST', asked)
  assert.equal(status, 204)
  assert.equal(headers.get('access-control-allow-origin'), PAGE.Origin)
  assert.deepEqual(listed(headers, 'access-control-allow-headers').sort(), asked.split(','))
  for (const method of ['get', 'post', 'delete'])
    assert.ok(listed(headers, 'access-control-allow-methods').includes(method))
})

test('the API tells no other page that it may read', async () => {
  const answer = await fetch(`${service.url}/v1/sessions`, { headers: STRANGER })
  const asked = await preflight(`${service.url}/v1/sessions`, STRANGER, 'GET', 'authorization')
  assert.equal(answer.headers.get('access-control-allow-origin'), null)
  assert.equal(asked.headers.get('access-control-allow-origin'), null)
  assert.equal(asked.status, 404)
})

function preflight(
  url: string,
  page: { Origin: string },
  method: string,
  headers: string,
): Promise<Response> {
  return fetch(url, {
    method: 'OPTIONS',
    headers: {
      ...page,
      'Access-Control-Request-Method': method,
      'Access-Control-Request-Headers': headers,
    },
  })
}

function exposed(headers: Headers): string[] {
  return listed(headers, 'access-control-expose-headers')
}

function listed(headers: Headers, name: string): string[] {
  return (headers.get(name) ?? '').toLowerCase().split(/ *, */)
}
