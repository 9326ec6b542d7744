import type { Report } from './report.ts'
import { ask } from './support/ask.ts'
import { requestHead } from './support/connection.ts'
import { inRounds, median } from './support/rounds.ts'
import { seed, seeded } from './support/seed.ts'
import { type Service, startService } from './support/service.ts'
import type { Stage } from './support/stage.ts'

const ROUNDS = 5
const MANY = 1_000_000
const FEW = 1_000
const ASK_MS = 300

const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString()
const halfAYearAgo = daysAgo(182)

const filters: Record<string, Record<string, string>> = {
  none: {},
  site: { site: seeded.site },
  device: { device: seeded.device },
  status: { status: 'processed' },
  'status, a rare one': { status: 'failed' },
  channel: { channel: seeded.channel },
  issue: { issue: seeded.issue },
  'created[gte]': { 'created[gte]': halfAYearAgo },
  'created[lt]': { 'created[lt]': halfAYearAgo },
  'recorded[gte]': { 'recorded[gte]': halfAYearAgo },
  'recorded[lt]': { 'recorded[lt]': halfAYearAgo },
  'recorded[gte] and recorded[lt], a month': {
    'recorded[gte]': daysAgo(212),
    'recorded[lt]': halfAYearAgo,
  },
  'channel and recorded[lt]': { channel: seeded.channel, 'recorded[lt]': halfAYearAgo },
  'site and recorded[lt]': { site: seeded.site, 'recorded[lt]': halfAYearAgo },
  'site and status': { site: seeded.site, status: 'processed' },
}

/** Whether a page costs the same however many sessions there are. */
export async function listScale(stage: Stage): Promise<Report> {
  const many = await startSeeded(stage, 'many', MANY)
  const few = await startSeeded(stage, 'few', FEW)
  const figures = []
  for (const [name, filter] of Object.entries(filters)) {
    const rounds = await inRounds(ROUNDS, [() => pageMs(many, filter), () => pageMs(few, filter)])
    const column = (index: number) => median(rounds.map((round) => round[index] ?? Number.NaN))
    figures.push({
      what: name,
      ours: `${column(0).toFixed(2)} ms`,
      baseline: `${column(1).toFixed(2)} ms`,
      ratio: median(rounds.map(([atMany = Number.NaN, atFew = Number.NaN]) => atMany / atFew)),
      // The page of two filters depends on how well they go together.
      ...(Object.keys(filter).length <= 1 || isRange(filter) ? { target: { atMost: 1.5 } } : {}),
    })
  }
  return {
    title: 'List: a page among a million',
    story: `Median time of a page of 50 with each filter, in an organisation of ${MANY.toLocaleString('en')} sessions (with 8 channels each) against one of ${FEW.toLocaleString('en')} with the same mix of sites, devices, states, channels and issues; each has a service and a PostgreSQL of its own. Times as filters lie in the middle of the year that the sessions span. Median of ${ROUNDS} rounds.`,
    figures,
  }
}

function isRange(filter: Record<string, string>): boolean {
  return Object.keys(filter).every((name) => name.startsWith('recorded['))
}

async function startSeeded(stage: Stage, name: string, count: number): Promise<Service> {
  const service = await startService(stage, name)
  await seed(service, count)
  return service
}

async function pageMs({ url, key }: Service, filter: Record<string, string>): Promise<number> {
  const head = requestHead('GET', `${url}/v1/sessions?${new URLSearchParams(filter)}`, {
    Authorization: `Bearer ${key}`,
  })
  const request = Buffer.from(head)
  const { p50Ms } = await ask(url, 1, AbortSignal.timeout(ASK_MS), () => request)
  return p50Ms
}
