import assert from 'node:assert/strict'
import type { LookupAddress } from 'node:dns'
import { after, before, test } from 'node:test'
import { call } from '../support/client.ts'
import { startReceiver } from '../support/receiver.ts'
import { assertRefused, errorOf } from '../support/refusal.ts'
import { type Service, startService } from '../support/service.ts'
import { createEndpoint, ping, untilTried, updateEndpoint } from '../support/webhooks.ts'

// Where webhooks may go on a service that calls public addresses only. Nothing here connects to a public address:
// such an endpoint is created and never called, or its name leads inside by the time it is.

const PUBLIC = '93.184.216.34'
const PUBLIC_6 = '2606:2800:220:1::1'

/** What each name resolves to; a name that is not here does not exist. */
const names: Record<string, string[]> = {}

async function resolve(host: string): Promise<LookupAddress[]> {
  const addresses = names[host]
  if (!addresses) throw Object.assign(new Error(`getaddrinfo ENOTFOUND ${host}`), { code: 'ENOTFOUND' })
  return addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))
}

let service: Service
before(async () => {
  service = await startService({
    resolve,
    env: { TAPEDECK_WEBHOOK_TARGETS: 'public', TAPEDECK_WEBHOOK_RETRY_SCALE: '0.01' },
  })
})
after(() => service.close())

function create(url: string) {
  const body = { url, events: ['session.failed'] }
  return call(service.url, 'POST', '/v1/webhook_endpoints', { key: service.key, body })
}

const insideLiterals = {
  loopback: 'https://127.0.0.1/',
  'any loopback': 'https://127.1.2.3/',
  'a short form': 'https://127.1/',
  'a decimal form': 'https://2130706433/',
  'an octal form': 'https://0177.0.0.1/',
  'an octal form of one number': 'https://017700000001/',
  'a hexadecimal form': 'https://0x7f.0.0.1/',
  'a hexadecimal form of one number': 'https://0x7f000001/',
  'a percent-encoded form': 'https://%31%32%37.0.0.1/',
  'a dot at its end': 'https://127.0.0.1./',
  'a port': 'https://127.0.0.1:8443/',
  'no address': 'https://0.0.0.0/',
  'no address, as a number': 'https://0/',
  'a private network': 'https://10.0.0.1/',
  'a private network, decimal': 'https://167772161/',
  'a home network': 'https://192.168.1.1/',
  'cloud metadata': 'https://169.254.169.254/latest/meta-data/',
  broadcast: 'https://255.255.255.255/',
  'IPv6 loopback': 'https://[::1]/',
  'IPv6 no address': 'https://[::]/',
  'IPv4-mapped': 'https://[::ffff:127.0.0.1]/',
  'IPv4-mapped, hexadecimal': 'https://[::ffff:7f00:1]/',
  'IPv4-mapped, all written out': 'https://[0:0:0:0:0:ffff:7f00:0001]/',
  'IPv4-compatible': 'https://[::127.0.0.1]/',
  NAT64: 'https://[64:ff9b::7f00:1]/',
  'NAT64 of a local prefix': 'https://[64:ff9b:1::a00:1]/',
  '6to4': 'https://[2002:7f00:1::]/',
  Teredo: 'https://[2001:0:7f00:1::]/',
  'unique local': 'https://[fd00::1]/',
  'link local': 'https://[fe80::1]/',
}

for (const [what, url] of Object.entries({
  'full-width digits': 'https://１２７.0.0.1/',
  'dots of another script': 'https://127。0。0。1/',
  'a letter that only looks like another': 'https://еxample.com/',
})) {
  test(`${url} is refused: ${what}`, async () => {
    const answer = await create(url)
    assertRefused(answer, 400, 'parameter_invalid', 'url')
    assert.match(errorOf(answer).message ?? '', /visible ASCII/)
  })
}

for (const [what, url] of Object.entries(insideLiterals)) {
  test(`${url} is refused: ${what}`, async () => {
    const answer = await create(url)
    assertRefused(answer, 400, 'parameter_invalid', 'url')
    assert.equal(errorOf(answer).message, 'url must lead to a public address')
  })
}

const insideNames = {
  'a name at loopback': ['127.0.0.1'],
  'a name in a private network': ['10.1.2.3'],
  'a name at IPv6 loopback': ['::1'],
  'a name with one public and one private address': [PUBLIC, '192.168.0.7'],
  'a name with one public and one private address of another family': [PUBLIC, 'fd00::7'],
  'a name with a public IPv6 and a private IPv4 address': [PUBLIC_6, '10.0.0.7'],
  'a name at an IPv4-mapped address': ['::ffff:10.0.0.7'],
}

for (const [index, [what, addresses]] of Object.entries(insideNames).entries()) {
  test(`${what} is refused without telling what was found`, async () => {
    names[`inside-${index}.test`] = addresses
    const answer = await create(`https://inside-${index}.test/hook`)
    assertRefused(answer, 400, 'parameter_invalid', 'url')
    // Word for word what a public name in front of nothing gets: nobody can map a network by asking.
    assert.equal(errorOf(answer).message, 'url must lead to a public address')
  })
}

for (const name of ['localhost', 'LOCALHOST']) {
  test(`https://${name} is refused as it is resolved by the system`, async (t) => {
    const plain = await startService({ env: { TAPEDECK_WEBHOOK_TARGETS: 'public' } })
    t.after(() => plain.close())
    const body = { url: `https://${name}/`, events: ['session.failed'] }
    const answer = await call(plain.url, 'POST', '/v1/webhook_endpoints', { key: plain.key, body })
    assertRefused(answer, 400, 'parameter_invalid', 'url')
  })
}

const wrongForms = {
  'http to a public address': `http://${PUBLIC}/`,
  'http to a public name': 'http://public.test/',
  'port 22': 'https://public.test:22/',
  'port 25': 'https://public.test:25/',
  'port 80': 'https://public.test:80/',
  'port 0': 'https://public.test:0/',
  'port 1023': 'https://public.test:1023/',
  credentials: 'https://key@public.test/',
}

for (const [what, url] of Object.entries(wrongForms)) {
  test(`${what} is refused`, async () => {
    names['public.test'] = [PUBLIC]
    assertRefused(await create(url), 400, 'parameter_invalid', 'url')
  })
}

for (const url of [
  `https://${PUBLIC}/`,
  `https://[${PUBLIC_6}]/`,
  'https://public.test/',
  'https://public.test:443/',
  'https://public.test:1024/',
  'https://public.test:8443/hook?x=1',
  'https://not-there-yet.test/',
]) {
  test(`${url} is accepted`, async () => {
    names['public.test'] = [PUBLIC, PUBLIC_6]
    assert.equal((await create(url)).status, 201)
  })
}

test('an update to an address inside is refused and changes nothing', async () => {
  names['public.test'] = [PUBLIC]
  const { id, url } = await createEndpoint(service, 'https://public.test/hook')
  const path = `/v1/webhook_endpoints/${id}`
  const body = { url: 'https://10.0.0.1/hook' }
  assertRefused(
    await call(service.url, 'PATCH', path, { key: service.key, body }),
    400,
    'parameter_invalid',
    'url',
  )
  const { body: unchanged } = await call<{ url: string }>(service.url, 'GET', path, { key: service.key })
  assert.equal(unchanged.url, url)
})

/** Creates an endpoint under a public name, then lets the name lead to a receiver inside. */
async function rebind(host: string, receiverUrl: string, ...addresses: string[]) {
  names[host] = [PUBLIC]
  const endpoint = await createEndpoint(service, `https://${host}:${new URL(receiverUrl).port}/hook`)
  names[host] = addresses
  return endpoint
}

for (const [what, addresses] of Object.entries({
  'leads inside': ['127.0.0.1'],
  'leads inside by one of its addresses': ['127.0.0.1', PUBLIC],
  'leads inside by a mapped address': ['::ffff:127.0.0.1'],
})) {
  test(`a name that ${what} when it is called is not called`, async (t) => {
    const receiver = await startReceiver(t)
    const host = `${what.replaceAll(' ', '-')}.test`
    const { id } = await rebind(host, receiver.url, ...addresses)
    const { attempts } = await untilTried(service, await ping(service, id), 2)
    for (const { error, status, response } of attempts)
      assert.deepEqual({ error, status, response }, { error: 'address_blocked', status: null, response: '' })
    assert.equal(receiver.delivered.length, 0)
    await updateEndpoint(service, id, { status: 'disabled' })
  })
}

test('a literal address that got in before is not called', async (t) => {
  const receiver = await startReceiver(t)
  names['public.test'] = [PUBLIC]
  const { id } = await createEndpoint(service, 'https://public.test/hook')
  // As an endpoint made while local targets were allowed, on a service where they no longer are.
  await service.database.db
    .updateTable('webhook_endpoints')
    .set({ url: receiver.url })
    .where('id', '=', id)
    .execute()
  const { attempts } = await untilTried(service, await ping(service, id))
  assert.equal(attempts[0]?.error, 'address_blocked')
  assert.equal(receiver.delivered.length, 0)
})

test('a name that does not exist when it is called is a failure of its own kind', async () => {
  const { id } = await createEndpoint(service, 'https://nowhere.test/hook')
  const { attempts, status } = await untilTried(service, await ping(service, id))
  assert.equal(attempts[0]?.error, 'dns')
  assert.equal(status, 'pending')
  await updateEndpoint(service, id, { status: 'disabled' })
})
