import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import type { Browser, Locator, Page } from 'playwright-core'
// biome-ignore lint/correctness/useImportExtensions: what starts the service runs without types, on Node 20 too
import { ensureConsole } from '../../../scripts/ensure-console.mjs'
import { call, sha256 } from '../../server/test/support/client.ts'
import { startReceiver } from '../../server/test/support/receiver.ts'
import { type Service, startService } from '../../server/test/support/service.ts'
import { startChromium } from './support/chromium.ts'
import { makeDrive, sensors } from './support/drive.ts'
import {
  aboutFiles,
  assertAccessible,
  dropFiles,
  joinByLink,
  openVisitor,
  PASSWORD,
  type Visitor,
} from './support/visitor.ts'

// The console as a person meets it, in a real browser, against the real service.

const root = join(import.meta.dirname, '..', '..', '..')
const skip = process.platform === 'linux' ? false : 'the browser from npm is for Linux'

let service: Service
let browser: Browser
let owner: Visitor
let dir: string

before(async () => {
  if (skip) return
  ensureConsole(root, process.execPath)
  dir = await mkdtemp(join(tmpdir(), 'tapedeck-console-'))
  service = await startService()
  browser = await startChromium()
  owner = await openVisitor(browser)
})
after(async () => {
  await browser?.close()
  await service?.close()
  if (dir) await rm(dir, { recursive: true, force: true })
})

const home = () => `${service.url}/console/o/default`

test('from the first link to the first key, which works', { skip }, async () => {
  const { page } = owner
  await page.goto(`${service.url}/console`)
  await page.getByText('Nobody has an account yet').waitFor()
  await joinByLink(owner, service.firstLink, 'Ada')
  await page.getByText('No recordings yet').waitFor()

  await page.getByRole('link', { name: 'API keys' }).click()
  await page.getByRole('button', { name: 'Create key' }).click()
  await page.getByLabel('Name').fill('pipeline')
  await page.getByRole('button', { name: 'Create', exact: true }).click()
  const key = await textOf(page.getByTestId('secret'))
  assert.match(key, /^svc_live_/)
  assert.equal((await call(service.url, 'GET', '/v1/sessions', { key })).status, 200)

  await page.getByRole('button', { name: 'Revoke pipeline' }).click()
  await page.getByRole('button', { name: 'Revoke', exact: true }).click()
  await page.getByText('pipeline is revoked, everywhere.').waitFor()
  assert.equal((await call(service.url, 'GET', '/v1/sessions', { key })).status, 401)
})

test('files that are dropped arrive, are processed, and show their timeline', { skip }, async () => {
  const { page } = owner
  await page.goto(`${home()}/sessions`)
  await dropFiles(
    page,
    [
      { name: 'drive.mcap', bytes: makeDrive({ seconds: 40 }) },
      { name: 'empty.mcap', bytes: new Uint8Array() },
    ],
    'warehouse',
  )
  await page.getByText('The file is empty: there is nothing to upload.').waitFor()
  const row = page.getByTestId('sessions').getByRole('row', { name: /drive\.mcap/ })
  await row.getByText('processed').waitFor()

  await row.getByRole('link', { name: 'drive.mcap' }).click()
  await page.getByTestId('timeline').waitFor()
  await page.getByText('camera/front').first().waitFor()
  assert.ok((await inkOf(page)) > 1000, 'the channels are drawn')
  await page.getByText('message_gap').first().waitFor()

  const range = page.getByTestId('timeline-range')
  await page.getByRole('button', { name: 'Zoom in' }).click()
  await range.filter({ hasText: /0:10.* – 0:(29|30)/ }).waitFor()
  await page.getByRole('region', { name: /Timeline of/ }).focus()
  for (let press = 0; press < 30; press++) await page.keyboard.press('+')
  // Down to milliseconds.
  await range.filter({ hasText: /\.\d{4} – / }).waitFor()
  await page.getByRole('tab', { name: /Channels/ }).click()
  await page.getByTestId('channels').getByText('/imu/data').waitFor()
})

test('the recording that was uploaded is the file, to the byte', { skip }, async () => {
  const { body } = await call<{ data: { filename: string; sha256: string }[] }>(
    service.url,
    'GET',
    '/v1/sessions',
    {
      key: service.key,
    },
  )
  assert.equal(
    body.data.find(({ filename }) => filename === 'drive.mcap')?.sha256,
    sha256(makeDrive({ seconds: 40 })).toString('hex'),
  )
})

test('filters stand in the address, and are found again', { skip }, async () => {
  const { page } = owner
  await page.goto(`${home()}/sessions?site=nowhere`)
  await page.getByText('No session is like that').waitFor()
  await page.getByRole('button', { name: 'Clear' }).click()
  await page.getByTestId('sessions').waitFor()
  assert.ok(!page.url().includes('site='))
  await page.getByRole('combobox', { name: 'Channel' }).fill('imu')
  await page.waitForURL(/channel=imu/)
  await page.reload()
  await page.getByTestId('sessions').getByText('drive.mcap').waitFor()
  assert.equal(await page.getByRole('combobox', { name: 'Channel' }).inputValue(), 'imu')
})

test('an upload that was cut off by a reload goes on when the file is chosen again', { skip }, async () => {
  const { page } = owner
  const path = join(dir, 'long.bin')
  await writeFile(path, Buffer.alloc(70 * 2 ** 20, 'tape'))
  await page.goto(`${home()}/sessions`)
  const puts: string[] = []
  page.on('request', (request) => request.method() === 'PUT' && puts.push(partOf(request.url())))
  // The second part does not get through before the reload.
  const second = isPart(2)
  await page.route(second, (route) => void route.abort())
  // The page counts what it has sent; only an answer says that it was kept.
  const kept = page.waitForResponse((response) => isPart(1)(new URL(response.url())))
  await chooseFile(page, path)
  const row = page.getByTestId('uploads')
  await row.getByText('67.1 MB of 73.4 MB').waitFor()
  assert.equal((await kept).status(), 200)
  await page.reload()
  await page.unroute(second)
  puts.length = 0
  await chooseFile(page, path)
  await row.getByText('arrived whole').waitFor()
  assert.deepEqual(puts, ['2'], 'what had arrived is not sent again')
})

test('an upload is paused and goes on', { skip }, async () => {
  const { page } = owner
  const path = join(dir, 'paused.bin')
  await writeFile(path, Buffer.alloc(9_000_000, 'pause'))
  await page.goto(`${home()}/sessions`)
  await page.route('**/upload/**', (route) => void route.abort())
  await chooseFile(page, path)
  await page.getByRole('button', { name: 'Pause paused.bin' }).click()
  await page.getByText(/^paused at|^beginning/).waitFor()
  await page.unroute('**/upload/**')
  await page.getByRole('button', { name: 'Resume paused.bin' }).click()
  await page.getByTestId('uploads').getByText('arrived whole').waitFor()
})

test('an upload that is paused while its session is being made goes on in that session', {
  skip,
}, async () => {
  const { page } = owner
  const path = join(dir, 'created.bin')
  await writeFile(path, Buffer.alloc(9_000_000, 'once'))
  await page.goto(`${home()}/sessions`)
  const made = Promise.withResolvers<void>()
  const creation = (url: URL) => url.pathname === '/v1/sessions'
  await page.route(creation, async (route) => {
    if (route.request().method() !== 'POST') return route.fallback()
    const response = await route.fetch()
    // The answer never arrives.
    if (response.status() === 201) return made.resolve()
    await route.fulfill({ response })
  })
  await chooseFile(page, path)
  await made.promise
  await page.getByRole('button', { name: 'Pause created.bin' }).click()
  await page.unroute(creation)
  await page.getByRole('button', { name: 'Resume created.bin' }).click()
  await page.getByTestId('uploads').getByText('arrived whole').waitFor()
  const { body } = await call<{ data: { filename: string }[] }>(service.url, 'GET', '/v1/sessions', {
    key: service.key,
  })
  assert.equal(body.data.filter(({ filename }) => filename === 'created.bin').length, 1)
})

test('a file that goes away under the upload is a calm message', { skip }, async () => {
  const { page } = owner
  const path = join(dir, 'gone.bin')
  await writeFile(path, Buffer.alloc(9_000_000, 'gone'))
  await page.goto(`${home()}/sessions`)
  const input = await openChooser(page)
  await input.setFiles(path)
  await rm(path)
  await aboutFiles(page, 'warehouse')
  await page.getByText(/was changed or removed while it was read/).waitFor()
})

test('a webhook test is seen in its deliveries', { skip }, async (t) => {
  const { page } = owner
  const receiver = await startReceiver(t)
  await page.goto(`${home()}/webhooks`)
  await page.getByRole('button', { name: 'Add endpoint' }).click()
  await page.getByLabel('Address').fill(receiver.url)
  await page.getByRole('button', { name: 'Add', exact: true }).click()
  assert.match(await textOf(page.getByTestId('secret')), /^whsec_/)
  await page.getByRole('link', { name: receiver.url }).click()
  await page.getByRole('button', { name: 'Send test' }).click()
  // Recordings of the tests above may end meanwhile, and tell this endpoint too.
  const deliveries = page.getByTestId('deliveries')
  await deliveries.getByRole('button', { name: /^succeeded ping/ }).click()
  await deliveries.getByText('"type": "ping"').waitFor()
  await deliveries.getByRole('button', { name: 'Send again' }).click()
  await receiver.arrived(2, 'ping')
})

test('members and viewers see what they may do, and no more', { skip }, async () => {
  const { page } = owner
  const links: Record<string, string> = {}
  for (const role of ['member', 'viewer']) {
    await page.goto(`${home()}/members`)
    await page.getByRole('button', { name: 'Invite' }).click()
    await page.getByLabel('For whom').fill(`a ${role}`)
    await page.getByRole('dialog').getByLabel('Role').first().click()
    await page.getByRole('option', { name: role }).click()
    await page.getByRole('button', { name: 'Make the link' }).click()
    links[role] = await textOf(page.getByTestId('secret'))
  }
  const member = await openVisitor(browser)
  await joinByLink(member, links.member ?? '', 'Max')
  await member.page.getByRole('button', { name: 'Upload' }).waitFor()
  assert.equal(await member.page.getByRole('link', { name: 'Audit log' }).count(), 0)

  const viewer = await openVisitor(browser)
  await joinByLink(viewer, links.viewer ?? '', 'Vera')
  await viewer.page.getByTestId('sessions').waitFor()
  assert.equal(await viewer.page.getByRole('button', { name: 'Upload' }).count(), 0)
  assert.equal(await viewer.page.getByRole('button', { name: /^Actions for/ }).count(), 0)
  await viewer.page.goto(`${home()}/keys`)
  await viewer.page.getByTestId('keys').waitFor()
  assert.equal(await viewer.page.getByRole('button', { name: 'Create key' }).count(), 0)
  await viewer.page.goto(`${home()}/audit-log`)
  await viewer.page.getByText('Only owners can see this').waitFor()

  // Taken out while the page is open.
  await viewer.page.goto(`${home()}/sessions`)
  await viewer.page.getByTestId('sessions').waitFor()
  await page.goto(`${home()}/members`)
  await page.getByRole('button', { name: 'Remove vera@example.com' }).click()
  await page.getByRole('button', { name: 'Remove', exact: true }).click()
  await page.getByText('vera@example.com is no longer a member.').waitFor()
  await viewer.page.getByText('You are not a member of default').waitFor()
  for (const visitor of [member, viewer]) {
    assert.deepEqual(visitor.complaints, [])
    await visitor.context.close()
  }
})

test('an expired sign-in leads to the sign-in page, and back to where one was', { skip }, async () => {
  const visitor = await openVisitor(browser)
  const { page, context } = visitor
  await page.goto(`${home()}/keys`)
  await page.waitForURL('**/sign-in**')
  await page.getByLabel('Email').fill('ada@example.com')
  await page.getByLabel('Password').first().fill('not the password')
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByText('do not belong together').waitFor()
  await page.getByLabel('Password').first().fill(PASSWORD)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.waitForURL('**/o/default/keys')
  await page.getByTestId('keys').waitFor()
  await context.clearCookies()
  await page.getByRole('link', { name: 'Members' }).click()
  await page.waitForURL('**/sign-in**')
  assert.deepEqual(visitor.complaints, [])
  await context.close()
})

test('an address of another organisation, and one that leads nowhere, are calm messages', {
  skip,
}, async () => {
  const { page } = owner
  const key = await service.makeKey({ organisation: 'others' })
  const { body } = await call<{ id: string }>(service.url, 'POST', '/v1/sessions', {
    key,
    body: { site: 'x', filename: 'x', bytes: 1, sha256: '0'.repeat(64) },
  })
  await page.goto(`${home()}/sessions/${body.id}`)
  await page.getByText('This belongs to another organisation').waitFor()
  await page.goto(`${home()}/sessions/ses_${'0'.repeat(36)}`)
  await page.getByText('There is nothing here').waitFor()
  await page.goto(`${service.url}/console/o/others/sessions`)
  await page.getByText('You are not a member of others').waitFor()
  await page.goto(`${service.url}/console/nowhere`)
  await page.getByText('There is no such page').waitFor()
})

test('what others have written is shown and never run', { skip }, async () => {
  const { page } = owner
  const attack = '"><img src=x onerror=alert(1)><script>alert(2)</script>'
  const odd = `/${'ö<b>\u202e😀'.repeat(40)}`.slice(0, 255)
  const bytes = makeDrive({
    seconds: 4,
    only: [
      { topic: `/${attack}`, schema: attack, hz: 20 },
      { topic: odd, schema: 'x/Y', hz: 20 },
      ...sensors.slice(5, 6),
    ],
  })
  await page.goto(`${home()}/sessions`)
  await dropFiles(page, [{ name: `${attack.replaceAll('/', '_')}.mcap`, bytes }], attack)
  await page.getByTestId('uploads').getByText('arrived whole').waitFor()
  await page.getByTestId('uploads').getByRole('link').click()
  await page.getByTestId('timeline').waitFor()
  await page.getByTestId('facts').getByText(attack).waitFor()
  await page.getByRole('tab', { name: /Channels/ }).click()
  await page.getByTestId('channels').getByText(`/${attack}`).waitFor()
  await page.getByRole('tab', { name: 'JSON' }).click()
  await page.getByRole('region', { name: 'JSON of the session' }).waitFor()
  await page.goto(`${home()}/devices`)
  await page.getByTestId('sites').waitFor()
  await page.goto(`${home()}/segments`)
  await page.getByTestId('segments').waitFor()
  await page.goto(`${home()}/audit-log`)
  await page.getByTestId('audit-log').waitFor()
  assert.equal(await page.locator('img').count(), 0)
  assert.deepEqual(owner.complaints, [])
})

test('a session is deleted after a second thought', { skip }, async () => {
  const { page } = owner
  await page.goto(`${home()}/sessions`)
  const rows = page.getByTestId('sessions').getByRole('row', { name: /paused\.bin/ })
  await rows.getByRole('button', { name: /^Actions for/ }).click()
  await page.getByRole('menuitem', { name: 'Delete' }).click()
  await page.getByRole('button', { name: 'Cancel' }).click()
  assert.equal(await rows.count(), 1)
  await rows.getByRole('button', { name: /^Actions for/ }).click()
  await page.getByRole('menuitem', { name: 'Delete' }).click()
  await page.getByRole('button', { name: 'Delete for good' }).click()
  await page.getByText('paused.bin is deleted.').waitFor()
  await rows.waitFor({ state: 'detached' })
})

const pages = ['sessions', 'segments', 'devices', 'keys', 'webhooks', 'members', 'audit-log', 'api']

for (const theme of ['light', 'dark'] as const) {
  test(`every page is accessible, ${theme}, and says nothing is wrong`, { skip }, async () => {
    const visitor = await openVisitor(browser, theme)
    const { page, context } = visitor
    await page.goto(`${service.url}/console/sign-in`)
    await page.getByLabel('Email').waitFor()
    await assertAccessible(page, 'sign-in')
    await context.addCookies(await owner.context.cookies())
    for (const name of pages) {
      await page.goto(`${home()}/${name}`)
      await page.waitForLoadState('networkidle')
      await assertAccessible(page, name)
    }
    await page.goto(`${home()}/sessions`)
    await page.getByRole('link', { name: 'drive.mcap' }).first().click()
    await page.getByTestId('timeline').waitFor()
    await assertAccessible(page, 'session')
    await page.goto(`${home()}/webhooks`)
    await page.getByTestId('endpoints').getByRole('link').first().click()
    await page.getByTestId('deliveries').waitFor()
    await assertAccessible(page, 'webhook')
    await page.goto(`${service.url}/console/account`)
    await page.getByText('Change password').waitFor()
    await assertAccessible(page, 'account')
    await page.setViewportSize({ width: 390, height: 800 })
    await page.goto(`${home()}/sessions`)
    await page.getByTestId('sessions').waitFor()
    await assertAccessible(page, 'sessions on a narrow screen')
    const overflow = Number(await page.evaluate('document.documentElement.scrollWidth - window.innerWidth'))
    assert.ok(overflow <= 0, `the page is ${overflow} pixels wider than the screen`)
    assert.deepEqual(visitor.complaints, [])
    await context.close()
  })
}

test('a service that is restarted under the page comes back by itself', { skip }, async () => {
  const { page } = owner
  await page.goto(`${home()}/sessions`)
  await page.getByTestId('sessions').waitFor()
  const complaints = owner.complaints.length
  await service.restartInPlace(async () => {
    const failed = page.waitForEvent('requestfailed')
    await page.getByRole('link', { name: 'Segments' }).click()
    await failed
  })
  await page.getByTestId('segments').waitFor()
  owner.complaints.length = complaints
})

test('a page whose code was not loaded when the service went away comes when it is back', {
  skip,
}, async () => {
  const visitor = await openVisitor(browser)
  const { page, context } = visitor
  await context.addCookies(await owner.context.cookies())
  await page.goto(`${home()}/sessions`)
  await page.getByRole('link', { name: 'API keys' }).waitFor()
  await service.restartInPlace(async () => {
    const failed = page.waitForEvent('requestfailed', (request) => /\/assets\/keys-/.test(request.url()))
    await page.getByRole('link', { name: 'API keys' }).click()
    await failed
  })
  await page.getByTestId('keys').waitFor()
  await context.close()
})

test('a page whose code is gone, because a newer console is served, is loaded anew', { skip }, async () => {
  const visitor = await openVisitor(browser)
  const { page, context } = visitor
  await context.addCookies(await owner.context.cookies())
  await page.goto(`${home()}/sessions`)
  await page.getByRole('link', { name: 'API keys' }).waitFor()
  let loadedAnew = false
  page.on('request', (request) => {
    loadedAnew ||= request.isNavigationRequest()
  })
  await page.route(/\/assets\/keys-/, (route) =>
    loadedAnew ? route.continue() : route.fulfill({ status: 404 }),
  )
  await page.getByRole('link', { name: 'API keys' }).click()
  await page.getByTestId('keys').waitFor()
  assert.ok(loadedAnew)
  await context.close()
})

test('signing out ends the sign-in', { skip }, async () => {
  const { page } = owner
  await page.goto(`${home()}/keys`)
  await page.getByRole('button', { name: 'ada@example.com' }).click()
  await page.getByRole('menuitem', { name: 'Sign out', exact: true }).click()
  await page.waitForURL('**/sign-in**')
  await page.goto(`${home()}/keys`)
  await page.waitForURL('**/sign-in**')
  assert.deepEqual(owner.complaints, [])
})

async function openChooser(page: Page) {
  const [chooser] = await Promise.all([
    page.waitForEvent('filechooser'),
    page.getByRole('button', { name: 'Upload', exact: true }).click(),
  ])
  return chooser
}

async function chooseFile(page: Page, path: string): Promise<void> {
  await (await openChooser(page)).setFiles(path)
  await aboutFiles(page, 'warehouse')
}

const textOf = async (locator: Locator): Promise<string> => (await locator.textContent()) ?? ''

const partOf = (url: string): string => /\/(\d+)\?/.exec(url)?.[1] ?? url
const isPart = (number: number) => (url: URL) =>
  url.pathname.startsWith('/upload/') && partOf(url.href) === String(number)

/** How many pixels of the channels are painted. */
function inkOf(page: Page): Promise<number> {
  return page.getByRole('img', { name: 'Channels over time' }).evaluate((element) => {
    const canvas = element as unknown as {
      width: number
      height: number
      getContext(kind: '2d'): {
        getImageData(x: number, y: number, w: number, h: number): { data: Uint8ClampedArray }
      }
    }
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height)
    return data.filter((value, index) => index % 4 === 3 && value > 200).length
  })
}
