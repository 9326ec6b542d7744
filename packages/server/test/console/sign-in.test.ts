import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { ErrorBody, InvitationPreview, Me, SignInOptions } from '@tapedeck/contract'
import { type Browser, enter, join, joinAsOwner, openBrowser, PASSWORD, tokenOf } from '../support/browser.ts'
import { type Service, startService } from '../support/service.ts'

let service: Service
let owner: Browser

before(async () => {
  service = await startService()
})
after(() => service.close())

const codeOf = (answer: { body: unknown }): string => (answer.body as ErrorBody).error.code

test('the first link makes the first owner, and works once', async () => {
  const visitor = openBrowser(service.url)
  const before = await visitor.call<SignInOptions>('GET', '/console/api/sign_in_options')
  assert.equal(before.body.needs_first_account, true)
  const token = { token: tokenOf(service.firstLink) }
  const preview = await visitor.call<InvitationPreview>('POST', '/console/api/invitation_preview', token)
  assert.deepEqual([preview.body.organisation, preview.body.role], ['default', 'owner'])

  owner = await joinAsOwner(service)
  const me = await owner.call<Me>('GET', '/console/api/me')
  assert.equal(me.body.email, 'ada@example.com')
  assert.deepEqual(
    me.body.organisations.map(({ name, role }) => ({ name, role })),
    [{ name: 'default', role: 'owner' }],
  )

  const after = await visitor.call<SignInOptions>('GET', '/console/api/sign_in_options')
  assert.equal(after.body.needs_first_account, false)
  assert.equal(
    codeOf(await visitor.call('POST', '/console/api/invitation_preview', token)),
    'invitation_not_found',
  )
  await assert.rejects(join(service, service.firstLink, 'mallory@example.com'), /invitation_not_found/)
})

test('the link of an earlier start ends with the first owner too', async () => {
  const other = await startService()
  try {
    const earlier = other.firstLink
    await other.restart()
    const later = other.firstLink
    assert.notEqual(earlier, later)
    await Promise.allSettled([join(other, earlier, 'one@example.com'), join(other, later, 'two@example.com')])
    const { rows } = await other.database.pool.query('select role from memberships')
    assert.deepEqual(rows, [{ role: 'owner' }])
    const { rows: users } = await other.database.pool.query('select id from auth."user"')
    assert.equal(users.length, 1, 'the account of whoever came second is taken back')
  } finally {
    await other.close()
  }
})

test('tokens of links are stored as hashes, passwords as hashes', async () => {
  const { rows } = await service.database.pool.query(
    `select encode(hash, 'hex') as hash from invitations union all select password from auth.account`,
  )
  const stored = rows.map((row) => row.hash).join(' ')
  assert.ok(stored.length > 100)
  assert.ok(!stored.includes(tokenOf(service.firstLink)))
  assert.ok(!stored.includes(PASSWORD))
})

test('signing in and out', async () => {
  const browser = openBrowser(service.url)
  const signedIn = await browser.call('POST', '/console/api/sign_in', {
    email: 'Ada@Example.com',
    password: PASSWORD,
  })
  assert.equal(signedIn.status, 200)
  const cookie =
    signedIn.headers.getSetCookie().find((line) => line.startsWith('tapedeck.session_token=')) ?? ''
  assert.match(cookie, /HttpOnly/i)
  assert.match(cookie, /SameSite=Lax/i)
  await enter(browser)
  assert.equal((await browser.call('GET', '/v1/sessions')).status, 200)

  const kept = new Map(browser.cookies)
  assert.equal((await browser.call('POST', '/console/api/sign_out', {})).status, 200)
  browser.cookies = kept
  assert.equal(
    codeOf(await browser.call('GET', '/v1/sessions')),
    'sign_in_required',
    'the cookie itself is void',
  )
})

test('signing out everywhere ends every other sign-in of the account', async () => {
  const [here, there] = [openBrowser(service.url), openBrowser(service.url)]
  for (const browser of [here, there]) {
    await browser.call('POST', '/console/api/sign_in', { email: 'ada@example.com', password: PASSWORD })
    await enter(browser)
  }
  assert.equal((await here.call('POST', '/console/api/sign_out_everywhere', {})).status, 200)
  assert.equal(codeOf(await there.call('GET', '/v1/sessions')), 'sign_in_required')
  owner = openBrowser(service.url)
  await owner.call('POST', '/console/api/sign_in', { email: 'ada@example.com', password: PASSWORD })
  await enter(owner)
})

test('a changed password ends other sign-ins, and the old one is refused', async () => {
  const browser = openBrowser(service.url)
  await browser.call('POST', '/console/api/sign_in', { email: 'ada@example.com', password: PASSWORD })
  await enter(browser)
  const change = (current_password: string, new_password: string) =>
    browser.call('POST', '/console/api/password', { current_password, new_password })
  assert.equal(codeOf(await change('not this one', 'another long password')), 'sign_in_failed')
  assert.equal(codeOf(await change(PASSWORD, 'short')), 'parameter_invalid')
  assert.equal((await change(PASSWORD, 'another long password')).status, 200)
  assert.equal((await browser.call('GET', '/v1/sessions')).status, 200)
  assert.equal(codeOf(await owner.call('GET', '/v1/sessions')), 'sign_in_required')
  const old = await openBrowser(service.url).call('POST', '/console/api/sign_in', {
    email: 'ada@example.com',
    password: PASSWORD,
  })
  assert.equal(codeOf(old), 'sign_in_failed')
})

test('whether an account exists is not told by signing in', async () => {
  const attempt = async (email: string) => {
    const { status, body } = await openBrowser(service.url).call<ErrorBody>('POST', '/console/api/sign_in', {
      email,
      password: 'wrong wrong wrong',
    })
    return { status, ...body.error, request_id: '' }
  }
  assert.deepEqual(await attempt('ada@example.com'), await attempt('nobody@example.com'))
})

test('attempts for one account are limited, also with the right password', async () => {
  const email = 'guessed@example.com'
  const browser = openBrowser(service.url)
  const answers = []
  for (let attempt = 0; attempt < 11; attempt++) {
    answers.push(await browser.call('POST', '/console/api/sign_in', { email, password: `guess ${attempt}` }))
  }
  assert.deepEqual([...new Set(answers.slice(0, 10).map(codeOf))], ['sign_in_failed'])
  const last = answers.at(-1)
  assert.equal(last?.status, 429)
  assert.ok(Number(last?.headers.get('retry-after')) > 0)
})

test('nobody signs up without an invitation', async () => {
  const browser = openBrowser(service.url)
  const body = { name: 'Mallory', email: 'mallory@example.com', password: PASSWORD }
  for (const path of [
    '/console/api/auth/sign-up/email',
    '/console/api/auth/sign-in/email',
    '/console/api/auth/get-session',
  ]) {
    assert.equal((await browser.call('POST', path, body)).status, 404)
    assert.equal((await browser.call('GET', path)).status, 404)
  }
  const invented = await browser.call('POST', '/console/api/join', { ...body, token: '0'.repeat(32) })
  assert.equal(codeOf(invented), 'invitation_not_found')
  const { rows } = await service.database.pool.query(`select id from auth."user" where email like 'mallory%'`)
  assert.deepEqual(rows, [])
})
