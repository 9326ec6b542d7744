import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { ErrorBody, Me, SignInOptions } from '@tapedeck/contract'
import { type Browser, enter, invite, joinAsOwner, openBrowser, tokenOf } from '../support/browser.ts'
import { CLIENT, type IdentityProvider, startIdentityProvider } from '../support/identity-provider.ts'
import { type Service, startService } from '../support/service.ts'

let provider: IdentityProvider
let service: Service
let owner: Browser

before(async () => {
  provider = await startIdentityProvider()
  service = await startService({
    env: {
      TAPEDECK_OIDC_ISSUER: provider.issuer,
      TAPEDECK_OIDC_CLIENT_ID: CLIENT.id,
      TAPEDECK_OIDC_CLIENT_SECRET: CLIENT.secret,
      TAPEDECK_OIDC_NAME: 'Example ID',
    },
  })
  owner = await joinAsOwner(service)
})
after(async () => {
  await service.close()
  await provider.close()
})

/** What the browser does between the button and the page that it comes back to. */
async function signInElsewhere(browser: Browser): Promise<string> {
  const begun = await browser.call<{ url: string }>('POST', '/console/api/sign_in/elsewhere', {
    return_to: '/console/o/default/keys',
  })
  assert.equal(begun.status, 200, JSON.stringify(begun.body))
  const there = await fetch(begun.body.url, { redirect: 'manual' })
  const back = new URL(there.headers.get('location') ?? '')
  assert.equal(back.origin, service.url)
  const returned = await browser.call('GET', `${back.pathname}${back.search}`)
  return returned.headers.get('location') ?? ''
}

test('somebody whom the other service knows has an account, and joins by an invitation', async () => {
  const browser = openBrowser(service.url)
  const { body: options } = await browser.call<SignInOptions>('GET', '/console/api/sign_in_options')
  assert.equal(options.elsewhere, 'Example ID')
  assert.match(await signInElsewhere(browser), /\/console\/o\/default\/keys$/)
  const me = await enter(browser)
  assert.deepEqual([me.email, me.organisations], ['grace@example.com', []])
  const token = tokenOf(await invite(owner, 'member'))
  assert.equal((await browser.call('POST', '/console/api/join/account', { token })).status, 200)
  assert.equal((await enter(browser)).organisations[0]?.role, 'member')
  assert.equal((await browser.call('GET', '/v1/sessions')).status, 200)
})

test('the same person comes back to the same account', async () => {
  const browser = openBrowser(service.url)
  await signInElsewhere(browser)
  assert.equal((await enter(browser)).organisations[0]?.name, 'default')
})

test('an answer that nobody has asked for signs nobody in', async () => {
  const victim = openBrowser(service.url)
  const attacker = openBrowser(service.url)
  const begun = await attacker.call<{ url: string }>('POST', '/console/api/sign_in/elsewhere', {
    return_to: '/console',
  })
  const there = await fetch(begun.body.url, { redirect: 'manual' })
  const back = new URL(there.headers.get('location') ?? '')
  // The link is handed to somebody else, whose browser has begun nothing.
  const returned = await victim.call('GET', `${back.pathname}${back.search}`)
  assert.match(returned.headers.get('location') ?? '', /error/)
  assert.equal((await victim.call<ErrorBody>('GET', '/console/api/me')).body.error.code, 'sign_in_required')
})

test('an address that the other service has not verified takes over no account', async () => {
  provider.person = { sub: 'person-2', email: 'ada@example.com', name: 'Not Ada', email_verified: false }
  const browser = openBrowser(service.url)
  const location = await signInElsewhere(browser)
  assert.match(location, /error/)
  assert.equal(
    (await browser.call<Me & ErrorBody>('GET', '/console/api/me')).body.error.code,
    'sign_in_required',
  )
})

test('no token of the other service is stored as it is', async () => {
  const { rows } = await service.database.pool.query(
    `select "accessToken" as token from auth.account where "providerId" = 'oidc'`,
  )
  assert.ok(rows.length > 0)
  for (const { token } of rows) assert.doesNotMatch(token, /^[0-9a-f]{8}-[0-9a-f]{4}-/)
})

test('a service that does not answer is a clear refusal, and is asked again the next time', async () => {
  const away = await startIdentityProvider()
  const { port } = new URL(away.issuer)
  await away.close()
  const waiting = await startService({
    env: {
      TAPEDECK_OIDC_ISSUER: `http://127.0.0.1:${port}`,
      TAPEDECK_OIDC_CLIENT_ID: CLIENT.id,
      TAPEDECK_OIDC_CLIENT_SECRET: CLIENT.secret,
    },
  })
  try {
    const browser = openBrowser(waiting.url)
    const answer = await browser.call<ErrorBody>('POST', '/console/api/sign_in/elsewhere', {
      return_to: '/console',
    })
    assert.deepEqual([answer.status, answer.body.error.code], [503, 'sign_in_unavailable'])
    assert.equal((await joinAsOwner(waiting)).cookies.size > 0, true, 'passwords work all the same')
  } finally {
    await waiting.close()
  }
})
