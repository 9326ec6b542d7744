import { spawnSync } from 'node:child_process'
import { mkdir, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { ANNOUNCED } from './baselines/announce.ts'
import { startNginx } from './baselines/nginx.ts'
import type { Report } from './report.ts'
import { requestHead } from './support/connection.ts'
import { startProcess } from './support/process.ts'
import {
  completeSession,
  createSession,
  makeRecording,
  PART_BYTES,
  type Recording,
  sendAll,
  uploadParts,
} from './support/recording.ts'
import { inRounds, median, secondsOf } from './support/rounds.ts'
import { call, pauseProcessing, startService } from './support/service.ts'
import type { Stage } from './support/stage.ts'

const ROUNDS = 5
const PARTS = 16
const CONNECTIONS = 4

/** A way to take in the recording: what is timed, and what puts everything back. */
type Contestant = { name: string; take(): Promise<unknown>; clear(): Promise<unknown> }

/** How fast parts come in, against the fastest sink that does the same for each part. */
export async function parts(stage: Stage): Promise<Report> {
  const recording = makeRecording(PARTS)
  const others = [await sink(stage, recording), await tus(stage, recording), await nginx(stage, recording)]
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

async function sink(stage: Stage, recording: Recording): Promise<Contestant> {
  const store = await openStore(stage, 'sink')
  const { found } = await startProcess(stage, [scriptPath('sink'), store.dir], ANNOUNCED)
  return { name: 'bare `node:http` sink', take: () => put(found[0] ?? '', recording), clear: store.clear }
}

async function nginx(stage: Stage, recording: Recording): Promise<Contestant | undefined> {
  const store = await openStore(stage, 'nginx-store')
  const url = await startNginx(stage, store.dir)
  if (url === undefined) return undefined
  return { name: 'nginx WebDAV', take: () => put(url, recording), clear: store.clear }
}

function put(url: string, { block, blockSha256, parts }: Recording): Promise<void> {
  const headers = { 'Content-Length': block.length, 'x-amz-checksum-sha256': blockSha256.toString('base64') }
  const heads = Array.from({ length: parts }, (_, part) => requestHead('PUT', `${url}/${part}`, headers))
  return sendAll(url, CONNECTIONS, heads, (connection, head) => connection.send(head, block))
}

async function tus(stage: Stage, { block, parts }: Recording): Promise<Contestant> {
  const store = await openStore(stage, 'tus')
  const { found } = await startProcess(stage, [scriptPath('tus'), store.dir], ANNOUNCED)
  const url = `${found[0]}/files`
  const version = { 'Tus-Resumable': '1.0.0' }
  const create = { method: 'POST', headers: { ...version, 'Upload-Length': String(block.length) } }
  const append = {
    ...version,
    'Upload-Offset': 0,
    'Content-Type': 'application/offset+octet-stream',
    'Content-Length': block.length,
  }
  return {
    name: '`@tus/server` with `@tus/file-store`',
    take: () =>
      sendAll(url, CONNECTIONS, Array(parts).fill(0), async (connection) => {
        const location = (await fetch(url, create)).headers.get('location') ?? ''
        await connection.send(requestHead('PATCH', location, append), block)
      }),
    clear: store.clear,
  }
}

async function openStore(stage: Stage, name: string): Promise<{ dir: string; clear(): Promise<void> }> {
  const dir = join(stage.dir, name)
  await mkdir(dir)
  return {
    dir,
    async clear() {
      for (const file of await readdir(dir)) await rm(join(dir, file))
    },
  }
}

function scriptPath(name: string): string {
  return fileURLToPath(new URL(`baselines/${name}.ts`, import.meta.url))
}
