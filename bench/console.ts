import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { deflateRawSync } from 'node:zlib'
import type { CDPSession, Page } from 'playwright-core'
import { startChromium } from '../packages/console/test/support/chromium.ts'
import { type Db, openDatabase } from '../packages/server/src/db/database.ts'
import { newId } from '../packages/server/src/ids.ts'
// biome-ignore lint/correctness/useImportExtensions: what starts the service runs without types, on Node 20 too
import { ensureConsole } from '../scripts/ensure-console.mjs'
import type { Report } from './report.ts'
import { startProcess } from './support/process.ts'
import { median } from './support/rounds.ts'
import { databaseOf, mainPath, serviceEnv } from './support/service.ts'
import type { Stage } from './support/stage.ts'

const CHANNELS = 100
const BINS = 10_000
const SPAN_S = 600
const FRAMES = 150
const FRAME_BUDGET_MS = 1000 / 30
const START_NS = 1_772_443_800_000_000_000n
const READY = /API +(\S+)\/v1\n[\s\S]*?(http\S+\/join#\w+)/

/** Whether the timeline of a large recording moves smoothly under the hand. */
export async function timelineInConsole(stage: Stage): Promise<Report> {
  ensureConsole(process.cwd(), process.execPath)
  const { url, link, dataDir } = await startConsole(stage)
  const session = await seedSession(dataDir)
  const browser = await startChromium()
  stage.after(() => browser.close())
  const page = await browser.newPage({ viewport: { width: 1600, height: 1000 } })
  await makeAccount(page, link)
  const openMs = await openSession(page, `${url}/console/o/default/sessions/${session}`)
  const metrics = await page.context().newCDPSession(page)
  // What the thread worked, and not how long it waited for a core that others used.
  await metrics.send('Performance.enable', { timeDomain: 'threadTicks' })
  // What runs for the first time is compiled first.
  await framesOf(page, metrics)
  const panned = await framesOf(page, metrics)
  await page.getByRole('button', { name: 'Zoom in' }).click({ clickCount: 3 })
  const pannedNear = await framesOf(page, metrics)
  return {
    title: 'Console: the timeline of a large recording',
    story: `A session page with ${CHANNELS} channels of ${BINS.toLocaleString('en-US')} bins in Chromium without a graphics card: what the main thread of the page works for each of ${FRAMES} frames while the timeline is dragged (script, layout and painting, in time of the processor), against the ${FRAME_BUDGET_MS.toFixed(0)} ms that a frame has at 30 a second.`,
    figures: [
      frameFigure('dragging the whole recording, p50', percentile(panned, 50)),
      frameFigure('dragging the whole recording, p99', percentile(panned, 99)),
      frameFigure('dragging, zoomed in 8 times, p50', percentile(pannedNear, 50)),
      frameFigure('dragging, zoomed in 8 times, p99', percentile(pannedNear, 99)),
    ],
    notes: [`From the click to the drawn timeline: ${(openMs / 1000).toFixed(2)} s.`],
  }
}

async function startConsole(stage: Stage) {
  const dataDir = join(stage.dir, 'console')
  await mkdir(dataDir)
  const { found } = await startProcess(stage, [mainPath], READY, serviceEnv(dataDir))
  const [url = '', link = ''] = found
  return { url, link, dataDir }
}

/** As processing would have left it: every channel at its own rate, with a gap of its own. */
async function seedSession(dataDir: string): Promise<string> {
  const { db, close } = openDatabase(await databaseOf(dataDir), { maxConnections: 2 })
  try {
    const organisation = await db
      .selectFrom('organisations')
      .select('id')
      .where('name', '=', 'default')
      .executeTakeFirstOrThrow()
    const id = newId('ses', Date.now())
    const names = Array.from(
      { length: CHANNELS },
      (_, index) => `imu/sensor_${String(index).padStart(3, '0')}`,
    )
    await insertSession(db, id, organisation.id, names)
    return id
  } finally {
    await close()
  }
}

async function insertSession(db: Db, id: string, organisationId: string, names: string[]): Promise<void> {
  await db
    .insertInto('sessions')
    .values({
      id,
      organisation_id: organisationId,
      site: 'bench',
      device: 'many-sensors',
      filename: 'large.mcap',
      bytes: 1_000_000_000,
      sha256: Buffer.alloc(32),
      part_size: 67_108_864,
      part_count: 15,
      status: 'processed',
      duration_s: SPAN_S,
      channels: names,
      notes: null,
    })
    .execute()
  const binNs = (SPAN_S * 1e9) / BINS
  const counts = new Uint32Array(CHANNELS * BINS)
  for (let channel = 0; channel < CHANNELS; channel++) {
    const perBin = ((channel % 10) + 1) * 2
    const gap = (channel * 97) % (BINS - 300)
    for (let bin = 0; bin < BINS; bin++) {
      if (bin > gap && bin < gap + 200) continue
      counts[channel * BINS + bin] = perBin + ((bin * 7919 + channel * 104_729) % 3)
    }
  }
  await db
    .insertInto('timelines')
    .values({
      session_id: id,
      start_ns: START_NS,
      bin_ns: binNs,
      bin_count: BINS,
      counts: deflateRawSync(Buffer.from(counts.buffer)),
    })
    .execute()
  await db
    .insertInto('channels')
    .values(
      names.map((name, position) => ({
        session_id: id,
        position,
        name,
        kind: 'imu',
        topic: `/${name}`,
        schema: 'sensor_msgs/Imu',
        encoding: 'cdr',
        message_count: 100_000,
        bytes: 10_000_000,
        first_ns: START_NS,
        last_ns: START_NS + BigInt(SPAN_S) * 1_000_000_000n,
        rate_hz: (((position % 10) + 1) * 2 + 1) / (binNs / 1e9),
        jitter_ns: 1000,
        largest_gap_ns: 1e9,
        clock: null,
      })),
    )
    .execute()
}

async function makeAccount(page: Page, link: string): Promise<void> {
  await page.goto(link)
  await page.getByLabel('Name').fill('Bench')
  await page.getByLabel('Email').fill('bench@example.com')
  await page.getByLabel('Password').first().fill('correct horse battery')
  await page.getByRole('button', { name: 'Create account' }).click()
  await page.getByTestId('sessions').waitFor()
}

async function openSession(page: Page, url: string): Promise<number> {
  const startMs = performance.now()
  await page.goto(url)
  await page.getByTestId('timeline').waitFor()
  return performance.now() - startMs
}

/** The work of the main thread for every frame of a drag. */
async function framesOf(page: Page, metrics: CDPSession): Promise<number[]> {
  const canvas = page.getByRole('img', { name: 'Channels over time' })
  const box = await canvas.boundingBox()
  if (!box) throw new Error('the timeline is not there')
  const y = box.y + box.height / 2
  await page.mouse.move(box.x + box.width - 20, y)
  await page.mouse.down()
  const frames: number[] = []
  let before = await busyMs(metrics)
  for (let frame = 0; frame < FRAMES; frame++) {
    await page.mouse.move(box.x + box.width - 20 - frame * 4, y)
    await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))')
    const now = await busyMs(metrics)
    frames.push(now - before)
    before = now
  }
  await page.mouse.up()
  return frames
}

async function busyMs(metrics: CDPSession): Promise<number> {
  const answer = await metrics.send('Performance.getMetrics')
  return (answer.metrics.find(({ name }) => name === 'TaskDuration')?.value ?? Number.NaN) * 1000
}

function frameFigure(what: string, ms: number) {
  return {
    what,
    ours: `${ms.toFixed(1)} ms`,
    baseline: `${FRAME_BUDGET_MS.toFixed(1)} ms`,
    ratio: ms / FRAME_BUDGET_MS,
    target: { atMost: 1 },
  }
}

function percentile(values: number[], percent: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  if (percent === 50) return median(sorted)
  return sorted[Math.min(sorted.length - 1, Math.floor((percent / 100) * sorted.length))] ?? Number.NaN
}
