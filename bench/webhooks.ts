import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { ANNOUNCED } from './baselines/announce.ts'
import type { Arrival } from './baselines/receiver.ts'
import type { Figure, Report } from './report.ts'
import { startProcess } from './support/process.ts'
import { inRounds, median, quantile } from './support/rounds.ts'
import { call, type Service, startService } from './support/service.ts'
import type { Stage } from './support/stage.ts'
import {
  type Committed,
  createEndpoint,
  failAgain,
  openAnnouncements,
  openBeside,
  seedFailed,
} from './support/webhooks.ts'

const DELIVERIES = 10_000
const CONNECTIONS = 32
const THROUGHPUT_ROUNDS = 5
const ENDPOINTS = 20
const HANGING = 10
/** Longer than a receiver has to answer, so that the first have been given up and others are put off. */
const LATENCY_S = 20
const EVENTS_PER_S = 10
const LATENCY_ROUNDS = 3

/** How fast events are delivered, and whether receivers that hang delay the others. */
export async function webhooks(stage: Stage): Promise<Report> {
  const service = await startService(stage)
  const receiver = await startProcess(stage, [scriptPath('receiver')], ANNOUNCED)
  const receiverUrl = receiver.found[0] ?? ''
  return {
    title: 'Webhooks: delivering events',
    story: `Throughput: ${DELIVERIES} deliveries to one endpoint, due all at once, until the last has arrived; median of ${THROUGHPUT_ROUNDS} rounds. The ceiling is a process that does nothing but sign the same body and POST it with undici over ${CONNECTIONS} connections to the same receiver; the service has as many deliveries on their way, and claims each in PostgreSQL and records its attempt there. Latency: ${EVENTS_PER_S} events a second for ${LATENCY_S} s go to ${ENDPOINTS} endpoints; from the commit of an event until it has arrived at ${ENDPOINTS - HANGING} of them, while the other ${HANGING} never answer, against the same while they do; median of ${LATENCY_ROUNDS} rounds.`,
    figures: [
      await throughput(stage, service, receiverUrl),
      ...(await latencies(stage, service, receiverUrl)),
    ],
  }
}

async function throughput(stage: Stage, service: Service, receiverUrl: string): Promise<Figure> {
  const database = await openBeside(stage, service)
  const { id } = await createEndpoint(service, `${receiverUrl}/measured`)
  const body = await seedFailed(database, [id], DELIVERIES)
  const rounds = await inRounds(THROUGHPUT_ROUNDS, [
    async () => {
      await failAgain(database)
      const startMs = performance.now()
      await call(service, 'POST', `/v1/webhook_endpoints/${id}/redeliver`, { since: '2020-01-01T00:00:00Z' })
      await fetch(`${receiverUrl}/wait?count=${DELIVERIES}`)
      return performance.now() - startMs
    },
    async () => {
      const args = [scriptPath('poster'), `${receiverUrl}/measured`, `${DELIVERIES}`, `${CONNECTIONS}`, body]
      const { found } = await startProcess(stage, args, /took (\S+) ms/)
      await fetch(`${receiverUrl}/wait?count=${DELIVERIES}`)
      return Number(found[0])
    },
  ])
  await call(service, 'DELETE', `/v1/webhook_endpoints/${id}`)
  const rate = (index: number) =>
    `${(DELIVERIES / (median(rounds.map((round) => round[index] ?? Number.NaN)) / 1000)).toFixed(0)}/s`
  return {
    what: 'deliveries to one endpoint',
    ours: rate(0),
    baseline: rate(1),
    ratio: median(rounds.map(([ours = Number.NaN, bare = Number.NaN]) => bare / ours)),
    target: { atLeast: 0.3 },
  }
}

async function latencies(stage: Stage, service: Service, receiverUrl: string): Promise<Figure[]> {
  const database = await openBeside(stage, service)
  const announce = await openAnnouncements(stage, database)
  const measure = async (hanging: number): Promise<number[]> => {
    const endpoints = []
    for (let index = 0; index < ENDPOINTS; index++) {
      // Those that are measured are the same in both cases.
      const path = index < ENDPOINTS - HANGING ? '/measured' : hanging > 0 ? '/hang' : '/beside'
      endpoints.push(await createEndpoint(service, `${receiverUrl}${path}/${index}`))
    }
    const committed = await announce(LATENCY_S * EVENTS_PER_S, 1000 / EVENTS_PER_S)
    await sleep(1000)
    const arrivals = await takeArrivals(receiverUrl)
    for (const { id } of endpoints) await call(service, 'DELETE', `/v1/webhook_endpoints/${id}`)
    return latenciesOf(committed, arrivals)
  }
  const rounds = await inRounds(LATENCY_ROUNDS, [() => measure(HANGING), () => measure(0)])
  const compared = (what: string, share: number, target?: Figure['target']): Figure => {
    const [ours, baseline] = [0, 1].map((index) => rounds.map((round) => quantile(round[index] ?? [], share)))
    return {
      what,
      ours: `${median(ours ?? []).toFixed(1)} ms`,
      baseline: `${median(baseline ?? []).toFixed(1)} ms`,
      ratio: median((ours ?? []).map((ms, round) => ms / (baseline?.[round] ?? Number.NaN))),
      ...(target && { target }),
    }
  }
  return [
    compared('event to receipt beside receivers that hang, p50', 0.5),
    compared('event to receipt beside receivers that hang, p95', 0.95, { atMost: 2 }),
  ]
}

async function takeArrivals(receiverUrl: string): Promise<Arrival[]> {
  const answer = await fetch(`${receiverUrl}/arrivals`)
  return JSON.parse(await answer.text())
}

/** Of every event at every measured endpoint; what has not arrived counts as late without end. */
function latenciesOf(committed: Committed[], arrivals: Arrival[]): number[] {
  const byId = Map.groupBy(arrivals, ([id]) => id)
  return committed.flatMap(({ id, atMs }) => {
    const found = (byId.get(id) ?? []).map(([, arrivedMs]) => arrivedMs - atMs)
    const missing = Math.max(0, ENDPOINTS - HANGING - found.length)
    return [...found, ...Array<number>(missing).fill(Number.POSITIVE_INFINITY)]
  })
}

function scriptPath(name: string): string {
  return fileURLToPath(new URL(`baselines/${name}.ts`, import.meta.url))
}
