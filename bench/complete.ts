import type { Report } from './report.ts'
import { peakBytes } from './support/process.ts'
import {
  completeSession,
  createSession,
  makeRecording,
  type Recording,
  uploadParts,
} from './support/recording.ts'
import { inRounds, median, secondsOf } from './support/rounds.ts'
import { call, pauseProcessing, type Service, startService } from './support/service.ts'
import type { Stage } from './support/stage.ts'

const ROUNDS = 3
const GIB_PARTS = 16
const MEMORY_LIMIT_BYTES = 300e6

/** What `complete` costs after an upload in order, and what memory the service needs for it. */
export async function complete(stage: Stage): Promise<Report> {
  const service = await startService(stage)
  await pauseProcessing(service)
  const twoGib = makeRecording(2 * GIB_PARTS)
  const rounds = await inRounds(ROUNDS, [
    () => completionSeconds(service, twoGib, 1),
    async () => makeRecording(2 * GIB_PARTS, twoGib.block).hashMs / 1000,
  ])
  const [ours, hashing] = [0, 1].map((index) => median(rounds.map((round) => round[index] ?? Number.NaN)))
  const fourAtOnceSeconds = await completionSeconds(service, makeRecording(4 * GIB_PARTS, twoGib.block), 4)
  return {
    title: 'Complete: verifying a large file',
    story: `2 GiB in parts of 64 MiB are uploaded one after the other; then \`POST …/complete\` is timed against hashing the same bytes from memory with \`createHash('sha256')\`, median of ${ROUNDS} rounds. After that 4 GiB go through the same service, 4 parts at once.`,
    figures: [
      {
        what: 'time of `complete`, against hashing the file',
        ours: `${((ours ?? Number.NaN) * 1000).toFixed(0)} ms`,
        baseline: `${((hashing ?? Number.NaN) * 1000).toFixed(0)} ms`,
        ratio: median(rounds.map(([completing = Number.NaN, hash = Number.NaN]) => completing / hash)),
        target: { atMost: 0.1 },
      },
      ...(await memoryFigure(service)),
    ],
    notes: [
      `With 4 parts at once the file is not hashed in order all the time: \`complete\` of the 4 GiB then took ${fourAtOnceSeconds.toFixed(2)} s.`,
    ],
  }
}

async function completionSeconds(
  service: Service,
  recording: Recording,
  connections: number,
): Promise<number> {
  const session = await createSession(service, recording)
  await uploadParts(session, recording, connections)
  const seconds = await secondsOf(() => completeSession(service, session, recording))
  await call(service, 'DELETE', `/v1/sessions/${session.id}`)
  return seconds
}

async function memoryFigure({ pid }: Service) {
  const peak = await peakBytes(pid)
  if (peak === undefined) return []
  return [
    {
      what: 'peak resident memory of the service, against the limit',
      ours: `${(peak / 1e6).toFixed(0)} MB`,
      baseline: `${MEMORY_LIMIT_BYTES / 1e6} MB`,
      ratio: peak / MEMORY_LIMIT_BYTES,
      target: { atMost: 1 },
    },
  ]
}
