import { randomBytes } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { ANNOUNCED } from './baselines/announce.ts'
import type { Figure, Report } from './report.ts'
import { ask } from './support/ask.ts'
import { requestHead } from './support/connection.ts'
import { startProcess } from './support/process.ts'
import { completeSession, createSession, makeRecording, uploadParts } from './support/recording.ts'
import { inRounds, median, secondsOf } from './support/rounds.ts'
import { call, pauseProcessing, type Service, startService } from './support/service.ts'
import { startSharedService, storeOf } from './support/shared-service.ts'
import type { Stage } from './support/stage.ts'
import { createEndpoint, failAgain, openBeside, seedFailed } from './support/webhooks.ts'

const ROUNDS = 3
const PARTS = 8
const PART_BYTES = 16 * 2 ** 20
const AT_ONCE = 4
const CONNECTIONS = 32
const ROUND_MS = 2_000
const ENDPOINTS = 4
const DELIVERIES = 500

const newSession = JSON.stringify({
  site: 'bench',
  filename: 'run.mcap',
  bytes: 2 ** 30,
  sha256: 'ab'.repeat(32),
})

/** What PostgreSQL over TCP and S3 cost, against the embedded PostgreSQL and the disk. */
export async function backends(stage: Stage): Promise<Report> {
  const shared = await startSharedService(stage)
  const services: Service[] = [shared, await startService(stage)]
  for (const service of services) await pauseProcessing(service)
  const measure = async (what: string, run: (service: Service) => Promise<number>, unit: Unit) =>
    figureOf(
      what,
      await inRounds(
        ROUNDS,
        services.map((service) => () => run(service)),
      ),
      unit,
    )
  const uploading = await inRounds(
    ROUNDS,
    services.map((service) => () => uploadAndComplete(service)),
  )
  const { name } = shared.store
  return {
    title: `Backends: PostgreSQL and ${name} against embedded`,
    story: `The same service twice: on PostgreSQL over TCP and ${name}, and as \`npm start\` runs it, with its own PostgreSQL and the disk. Upload: ${PARTS} parts of 16 MiB, ${AT_ONCE} at once; complete: of that session. Create and list (a page of 50): over ${CONNECTIONS} connections. Webhooks: ${DELIVERIES} deliveries to each of ${ENDPOINTS} endpoints, due at once, until the last has arrived. Median of ${ROUNDS} rounds.`,
    figures: [
      figureOf(
        'upload',
        uploading.map((round) => round.map(({ rate }) => rate)),
        perSecond('MiB'),
      ),
      figureOf(
        'complete, time',
        uploading.map((round) => round.map(({ completeMs }) => completeMs)),
        milliseconds,
      ),
      // Creating makes what is listed.
      await measure('create, of 16 parts', create, perSecond('')),
      await measure('list', list, perSecond('')),
      await fanOut(stage, services),
    ],
    on: storeOf(shared, 'backends'),
  }
}

async function uploadAndComplete(service: Service): Promise<{ rate: number; completeMs: number }> {
  const recording = makeRecording(PARTS, randomBytes(PART_BYTES))
  const session = await createSession(service, recording)
  const seconds = await secondsOf(() => uploadParts(session, recording, AT_ONCE))
  const completeMs = 1000 * (await secondsOf(() => completeSession(service, session, recording)))
  await call(service, 'DELETE', `/v1/sessions/${session.id}`)
  return { rate: (PARTS * PART_BYTES) / 2 ** 20 / seconds, completeMs }
}

async function create({ url, key }: Service): Promise<number> {
  const headers = {
    Authorization: `Bearer ${key}`,
    'Content-Type': 'application/json',
    'Content-Length': newSession.length,
  }
  const request = Buffer.from(requestHead('POST', `${url}/v1/sessions`, headers) + newSession)
  return (await ask(url, CONNECTIONS, AbortSignal.timeout(ROUND_MS), () => request)).perSecond
}

async function list({ url, key }: Service): Promise<number> {
  const headers = { Authorization: `Bearer ${key}` }
  const request = Buffer.from(requestHead('GET', `${url}/v1/sessions?limit=50`, headers))
  return (await ask(url, CONNECTIONS, AbortSignal.timeout(ROUND_MS), () => request)).perSecond
}

async function fanOut(stage: Stage, services: Service[]): Promise<Figure> {
  const script = fileURLToPath(new URL('baselines/receiver.ts', import.meta.url))
  const contestants = await Promise.all(
    services.map(async (service) => {
      const receiver = (await startProcess(stage, [script], ANNOUNCED)).found[0] ?? ''
      const database = await openBeside(stage, service)
      const endpoints: string[] = []
      while (endpoints.length < ENDPOINTS) {
        const { id } = await createEndpoint(service, `${receiver}/${endpoints.length}`)
        endpoints.push(id)
      }
      await seedFailed(database, endpoints, DELIVERIES)
      return async () => {
        await failAgain(database)
        const startMs = performance.now()
        const since = '2020-01-01T00:00:00Z'
        await Promise.all(
          endpoints.map((id) => call(service, 'POST', `/v1/webhook_endpoints/${id}/redeliver`, { since })),
        )
        await fetch(`${receiver}/wait?count=${ENDPOINTS * DELIVERIES}`)
        return (ENDPOINTS * DELIVERIES) / ((performance.now() - startMs) / 1000)
      }
    }),
  )
  return figureOf('webhooks to several endpoints', await inRounds(ROUNDS, contestants), perSecond(''))
}

type Unit = (value: number) => string

const perSecond =
  (of: string): Unit =>
  (value) =>
    `${value.toFixed(0)}${of && ` ${of}`}/s`
const milliseconds: Unit = (value) => `${value.toFixed(0)} ms`

function figureOf(what: string, rounds: number[][], unit: Unit): Figure {
  const of = (index: number) => median(rounds.map((round) => round[index] ?? Number.NaN))
  const ratio = median(rounds.map(([ours = Number.NaN, embedded = Number.NaN]) => ours / embedded))
  return { what, ours: unit(of(0)), baseline: unit(of(1)), ratio }
}
