import { spawnSync } from 'node:child_process'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Report } from './report.ts'
import { type Contestant, nginx, sink, tus } from './support/peers.ts'
import {
  completeSession,
  createSession,
  makeRecording,
  PART_BYTES,
  type Recording,
  uploadParts,
} from './support/recording.ts'
import { inRounds, median, secondsOf } from './support/rounds.ts'
import { call, pauseProcessing, startService } from './support/service.ts'
import type { Stage } from './support/stage.ts'

const ROUNDS = 5
const PARTS = 16
const CONNECTIONS = 4

/** How fast parts come in, against the fastest sink that does the same for each part. */
export async function parts(stage: Stage): Promise<Report> {
  const recording = makeRecording(PARTS)
  const others = [
    await sink(stage, recording, CONNECTIONS),
    await tus(stage, recording, CONNECTIONS),
    await nginx(stage, recording, CONNECTIONS),
  ]
  const contestants = [await service(stage, recording), ...others.filter((other) => other !== undefined)]
  const rounds = await inRounds(
    ROUNDS,
    contestants.map((contestant) => () => timed(contestant)),
  )
  const rate = (index: number) => median(rounds.map((round) => round[index] ?? Number.NaN))
  const ours = rate(0)
  const figures = contestants.slice(1).map(({ name }, index) => ({
    what: name,
    ours: `${ours.toFixed(0)} MiB/s`,
    baseline: `${rate(index + 1).toFixed(0)} MiB/s`,
    ratio: median(rounds.map((round) => (round[0] ?? 0) / (round[index + 1] ?? Number.NaN))),
    ...(index === 0 && { target: { atLeast: 0.85 } }),
  }))
  return {
    title: 'Parts: upload throughput',
    story: `One session of ${PARTS} parts of 64 MiB, ${CONNECTIONS} at once, median of ${ROUNDS} rounds. The ceiling is a bare \`node:http\` server that hashes each part with \`createHash('sha256')\`, writes it to a file on the same disk and syncs it before it answers. The service does that too, signs, records each part in PostgreSQL, and hashes the whole file along. The others neither hash nor sync.`,
    figures,
    notes: figures.length < 3 ? ['nginx with its WebDAV module was not on the PATH.'] : [],
  }
}

/** MiB/s. What earlier writers left to the kernel is on disk before the clock starts. */
async function timed({ take, clear }: Contestant): Promise<number> {
  spawnSync('sync')
  const seconds = await secondsOf(take)
  await clear()
  return (PARTS * PART_BYTES) / 2 ** 20 / seconds
}

async function service(stage: Stage, recording: Recording): Promise<Contestant> {
  const running = await startService(stage)
  await pauseProcessing(running)
  let session: Awaited<ReturnType<typeof createSession>>
  return {
    name: 'service',
    async take() {
      session = await createSession(running, recording)
      await uploadParts(session, recording, CONNECTIONS)
    },
    async clear() {
      // Also the proof that every byte came in.
      await completeSession(running, session, recording)
      await call(running, 'DELETE', `/v1/sessions/${session.id}`)
      await untilEmpty(join(running.dataDir, 'recordings', 'sessions'))
    },
  }
}

/** The bytes are removed by a job; it must not run into the next contestant's time. */
async function untilEmpty(dir: string): Promise<void> {
  const deadlineMs = performance.now() + 30_000
  while (await holdsFiles(dir)) {
    if (performance.now() > deadlineMs) throw new Error(`${dir} was not emptied`)
    await sleep(20)
  }
}

async function holdsFiles(dir: string): Promise<boolean> {
  try {
    const entries = await readdir(dir, { recursive: true, withFileTypes: true })
    return entries.some((entry) => entry.isFile())
  } catch {
    // A folder went away while it was read.
    return true
  }
}
