import type { Report } from './report.ts'
import { ask } from './support/ask.ts'
import { requestHead } from './support/connection.ts'
import { inRounds, median } from './support/rounds.ts'
import { seedSegments, sought } from './support/segments.ts'
import { type Service, startService } from './support/service.ts'
import type { Stage } from './support/stage.ts'

const ROUNDS = 5
const MANY = 1_000_000
const FEW = 10_000
const ASK_MS = 300

const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString()

const filters: Record<string, Record<string, string>> = {
  none: {},
  site: { site: sought.site },
  device: { device: sought.device },
  channel: { channel: sought.channel },
  'two channels': { channel: sought.channels },
  'a rare channel': { channel: sought.rareChannel },
  kind: { kind: 'lidar' },
  issue: { issue: sought.issue },
  severity: { severity: 'warning' },
  'recorded in a month': { 'recorded[gte]': daysAgo(212), 'recorded[lt]': daysAgo(182) },
  duration: { 'duration[gte]': '25', 'duration[lt]': '26' },
  'a duration that no segment has': { 'duration[gte]': '900' },
  text: { text: sought.word },
  'site and channel': { site: sought.site, channel: sought.channel },
  'issue and kind': { issue: sought.issue, kind: 'camera' },
}

/** Whether a search costs the same however many segments there are. */
export async function segments(stage: Stage): Promise<Report> {
  const [many, few] = [await startSeeded(stage, 'many', MANY), await startSeeded(stage, 'few', FEW)]
  const figures = []
  for (const [name, filter] of Object.entries(filters)) {
    const rounds = await inRounds(ROUNDS, [() => pageMs(many, filter), () => pageMs(few, filter)])
    const column = (index: number) => median(rounds.map((round) => round[index] ?? Number.NaN))
    figures.push({
      what: name,
      ours: `${column(0).toFixed(2)} ms`,
      baseline: `${column(1).toFixed(2)} ms`,
      ratio: median(rounds.map(([atMany = Number.NaN, atFew = Number.NaN]) => atMany / atFew)),
      target: { atMost: 2 },
    })
  }
  return {
    title: 'Segments: a search among a million',
    story: `Median time of a page of 50 from \`GET /v1/segments\` with each filter, among ${MANY.toLocaleString('en')} segments against ${FEW.toLocaleString('en')} of the same mix; each has a service and a PostgreSQL of its own. Median of ${ROUNDS} rounds.`,
    figures,
  }
}

async function startSeeded(stage: Stage, name: string, count: number): Promise<Service> {
  const service = await startService(stage, name)
  await seedSegments(service, count)
  return service
}

async function pageMs({ url, key }: Service, filter: Record<string, string>): Promise<number> {
  const head = requestHead('GET', `${url}/v1/segments?${new URLSearchParams(filter)}`, {
    Authorization: `Bearer ${key}`,
  })
  const request = Buffer.from(head)
  const { p50Ms } = await ask(url, 1, AbortSignal.timeout(ASK_MS), () => request)
  return p50Ms
}
