import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { before, test } from 'node:test'
import chromium from '@sparticuz/chromium'
import { type Browser, chromium as playwright } from 'playwright-core'
import { build } from 'vite'
import { recording, SMALLEST_PART } from '../../server/test/support/client.ts'
import { endWithFile } from '../../server/test/support/ending.ts'
import { type Service, startService } from '../../server/test/support/service.ts'

// A page of somebody else's site, bundled as its makers would, in a real browser.

const file = endWithFile()
let service: Service
let browser: Browser
let pageUrl: string
let dir: string

const page = `
import { Tapedeck } from '@tapedeck/sdk'
window.upload = async (apiKey, baseUrl, more) => {
  const tapedeck = new Tapedeck({ apiKey, baseUrl })
  const [file] = document.querySelector('input').files
  const phases = new Set()
  let last
  const session = await tapedeck.sessions.upload(file, {
    site: 'browser',
    partSize: ${SMALLEST_PART},
    onProgress(now) { phases.add(now.phase); last = now },
    ...more,
  })
  return { session, phases: [...phases], last }
}
`

before(async () => {
  dir = await mkdtemp(join(tmpdir(), 'tapedeck-page-'))
  file.after(() => rm(dir, { recursive: true, force: true }))
  const site = await startSite()
  pageUrl = site.url
  service = await startService({ env: { TAPEDECK_CORS_ORIGINS: new URL(pageUrl).origin } })
  file.after(() => service.close())
  browser = await playwright.launch({
    // Not those that come with it: they switch off what keeps one origin from another.
    args: ['--no-sandbox'],
    executablePath: await chromium.executablePath(),
    headless: true,
  })
  file.after(() => browser.close())
})

/** Bundled by Vite, worker and all, and served from an origin of its own. */
async function startSite(): Promise<{ url: string }> {
  await writeFile(
    join(dir, 'index.html'),
    '<input type="file"><script type="module" src="./page.js"></script>',
  )
  await writeFile(join(dir, 'page.js'), page)
  const result = await build({
    root: dir,
    configFile: false,
    logLevel: 'error',
    resolve: { alias: { '@tapedeck/sdk': join(import.meta.dirname, '..', 'src', 'index.ts') } },
    worker: { format: 'es' },
    build: { write: false, target: 'es2022' },
  })
  const files = new Map<string, string | Uint8Array>()
  for (const bundle of [result].flat()) {
    if (!('output' in bundle)) continue
    for (const item of bundle.output)
      files.set(`/${item.fileName}`, item.type === 'chunk' ? item.code : item.source)
  }
  const types: Record<string, string> = { html: 'text/html', js: 'text/javascript' }
  const server = createServer((request, response) => {
    const path = request.url === '/' ? '/index.html' : (request.url ?? '')
    const content = files.get(path)
    response.writeHead(content === undefined ? 404 : 200, {
      'Content-Type': types[path.split('.').at(-1) ?? ''] ?? 'application/octet-stream',
    })
    response.end(content)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  file.after(async () => {
    server.close()
    server.closeAllConnections()
  })
  const address = server.address()
  return { url: `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}/` }
}

type Outcome = {
  session: { bytes: number; sha256: string; filename: string; status: string }
  phases: string[]
  last: { bytes: number; partsDone: number }
}

async function uploadInBrowser(bytes: Uint8Array, more: object = {}) {
  const path = join(dir, 'run.mcap')
  await writeFile(path, bytes)
  const tab = await browser.newPage()
  const workers: string[] = []
  tab.on('worker', (worker) => workers.push(worker.url()))
  try {
    await tab.goto(pageUrl)
    await tab.setInputFiles('input', path)
    const outcome = await tab.evaluate(
      ([key, url, options]) => Reflect.get(globalThis, 'upload')(key, url, options),
      [service.key, service.url, more] as const,
    )
    return { ...(outcome as Outcome), workers }
  } finally {
    await tab.close()
  }
}

test('a File of several parts, hashed in workers', async () => {
  const bytes = recording(4, 31)
  const { session, phases, last, workers } = await uploadInBrowser(bytes)
  assert.deepEqual(
    [session.bytes, session.sha256, session.filename],
    [bytes.length, createHash('sha256').update(bytes).digest('hex'), 'run.mcap'],
  )
  assert.notEqual(session.status, 'uploading')
  assert.deepEqual(phases, ['hashing', 'uploading', 'completing'])
  assert.deepEqual([last.bytes, last.partsDone], [bytes.length, 4])
  assert.equal(workers.length, 2)
})

test('a small File, hashed in the page itself', async () => {
  const bytes = recording(1, 32)
  const { session, workers } = await uploadInBrowser(bytes, { filename: 'small.mcap' })
  assert.equal(session.sha256, createHash('sha256').update(bytes).digest('hex'))
  assert.equal(workers.length, 0)
})
