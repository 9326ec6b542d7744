import { Worker } from 'node:worker_threads'
import type { CreatedSession } from '@tapedeck/contract'
import type { Report } from './report.ts'
import { type Asked, ask } from './support/ask.ts'
import { requestHead } from './support/connection.ts'
import { completeSession, createSession, makeRecording, type Recording } from './support/recording.ts'
import { inRounds, median } from './support/rounds.ts'
import { call, pauseProcessing, type Service, startService } from './support/service.ts'
import type { Stage } from './support/stage.ts'

const ROUNDS = 3
const PARTS = 24
const CONNECTIONS = 4
const QUIET_MS = 4_000

type Seen = Asked & { loopP99Ms: number }

/** Whether a request is answered as fast while recordings come in. */
export async function eventLoop(stage: Stage): Promise<Report> {
  const service = await startService(stage)
  await pauseProcessing(service)
  const recording = makeRecording(PARTS)
  const { id } = await createSession(service, recording)
  const rounds = await inRounds(ROUNDS, [
    () => retrieveWhileUploading(service, id, recording),
    () => retrieveUntil(service, id, AbortSignal.timeout(QUIET_MS)),
  ])
  const column = (index: number, pick: (seen: Seen) => number) =>
    median(rounds.map((round) => (round[index] ? pick(round[index]) : Number.NaN)))
  const compared = (what: string, pick: (seen: Seen) => number) => ({
    what,
    ours: `${column(0, pick).toFixed(1)} ms`,
    baseline: `${column(1, pick).toFixed(1)} ms`,
    ratio: median(
      rounds.map(([busy, quiet]) => (busy ? pick(busy) : Number.NaN) / (quiet ? pick(quiet) : Number.NaN)),
    ),
  })
  return {
    title: 'Event loop: requests beside uploads',
    story: `\`GET /v1/sessions/{id}\`, one after the other, while ${CONNECTIONS} parts of 64 MiB at once come in, against the same with no uploads; median of ${ROUNDS} rounds. The event-loop delay is what the service itself reports at \`/metrics\`.`,
    figures: [
      compared('retrieve, p50', ({ p50Ms }) => p50Ms),
      compared('retrieve, p99', ({ p99Ms }) => p99Ms),
      compared('event-loop delay, p99', ({ loopP99Ms }) => loopP99Ms),
    ],
  }
}

async function retrieveWhileUploading(service: Service, id: string, recording: Recording): Promise<Seen> {
  const session = await createSession(service, recording)
  const uploaded = new AbortController()
  const [seen] = await Promise.all([
    retrieveUntil(service, id, uploaded.signal),
    uploadInThread(session, recording).finally(() => uploaded.abort()),
  ])
  await completeSession(service, session, recording)
  await call(service, 'DELETE', `/v1/sessions/${session.id}`)
  return seen
}

/** The bytes are sent by a thread, so that sending them delays no request of ours. */
async function uploadInThread(session: CreatedSession, { block, blockSha256 }: Recording): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const workerData = { session, block, blockSha256, connections: CONNECTIONS }
  new Worker(new URL('support/upload-thread.ts', import.meta.url), { workerData })
    .on('error', reject)
    .on('exit', () => resolve())
  await promise
}

async function retrieveUntil(service: Service, id: string, until: AbortSignal): Promise<Seen> {
  const request = Buffer.from(
    requestHead('GET', `${service.url}/v1/sessions/${id}`, { Authorization: `Bearer ${service.key}` }),
  )
  // Reading the delay starts its next measurement.
  await loopDelayP99Ms(service)
  const asked = await ask(service.url, 1, until, () => request)
  return { ...asked, loopP99Ms: await loopDelayP99Ms(service) }
}

async function loopDelayP99Ms({ url }: Service): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text()
  return Number(/^nodejs_eventloop_lag_p99_seconds (\S+)$/m.exec(text)?.[1]) * 1000
}
