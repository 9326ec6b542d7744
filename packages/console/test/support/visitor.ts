import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Browser, BrowserContext, Page } from 'playwright-core'

// A person at a browser. Whatever a page complains of, and every script that was not ours, is an error of the test.

export type Visitor = {
  page: Page
  context: BrowserContext
  /** What the pages complained of so far. */
  complaints: string[]
}

/** Refusals are part of the tests; browsers log them all the same. */
const expected =
  /Failed to load resource: the server responded with a status of 4\d\d|net::ERR_(FAILED|CONNECTION|ABORTED)/

export async function openVisitor(browser: Browser, theme: 'light' | 'dark' = 'light'): Promise<Visitor> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 860 }, colorScheme: theme })
  const page = await context.newPage()
  page.setDefaultTimeout(20_000)
  const complaints: string[] = []
  page.on('pageerror', (error) => complaints.push(String(error)))
  page.on('console', (message) => {
    if (message.type() === 'error' && !expected.test(message.text())) complaints.push(message.text())
  })
  page.on('dialog', (dialog) => {
    if (dialog.type() !== 'beforeunload') complaints.push(`a dialog: ${dialog.message()}`)
    void dialog.accept()
  })
  // Choosers are caught from the beginning: to begin with the click would be too late now and then.
  page.on('filechooser', () => {})
  return { page, context, complaints }
}

/** Of the page. */
declare const DataTransfer: new () => { items: { add(file: File): void } }

export const PASSWORD = 'correct horse battery'

/** Opens the link of an invitation and makes an account. */
export async function joinByLink({ page }: Visitor, link: string, name: string): Promise<void> {
  await page.goto(link)
  await page.getByLabel('Name').fill(name)
  await page.getByLabel('Email').fill(`${name.toLowerCase()}@example.com`)
  await page.getByLabel('Password', { exact: false }).first().fill(PASSWORD)
  await page.getByRole('button', { name: 'Create account' }).click()
  await page.waitForURL('**/sessions')
}

/** Drops files on the sessions page, and says where they come from. */
export async function dropFiles(
  page: Page,
  files: { name: string; bytes: Uint8Array }[],
  site: string,
): Promise<void> {
  const given = files.map(({ name, bytes }) => ({ name, base64: Buffer.from(bytes).toString('base64') }))
  const transfer = await page.evaluateHandle((list) => {
    const data = new DataTransfer()
    for (const { name, base64 } of list) {
      const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0))
      data.items.add(new File([bytes], name, { lastModified: 1 }))
    }
    return data
  }, given)
  const zone = page.getByRole('region', { name: /drop files here/ })
  await zone.dispatchEvent('dragover', { dataTransfer: transfer })
  await zone.dispatchEvent('drop', { dataTransfer: transfer })
  await aboutFiles(page, site)
}

export async function aboutFiles(page: Page, site: string): Promise<void> {
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Site').fill(site)
  await page.keyboard.press('Tab')
  await dialog.getByRole('button', { name: 'Upload' }).click()
}

const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

type Finding = { id: string; impact: string; nodes: { html: string; failureSummary: string }[] }

/** No serious finding of axe on the page as it is. */
export async function assertAccessible(page: Page, name: string): Promise<void> {
  await page.evaluate(axeSource)
  const findings = await page.evaluate(async () => {
    const { axe } = globalThis as unknown as {
      axe: { run(options: object): Promise<{ violations: Finding[] }> }
    }
    const { violations } = await axe.run({
      runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice'],
    })
    return violations
  })
  const serious = findings.filter(({ impact }) => impact === 'serious' || impact === 'critical')
  const told = serious.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary}`),
  )
  assert.deepEqual(told, [], `${name} is not accessible`)
}
