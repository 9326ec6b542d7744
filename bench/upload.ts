import { execFile, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { platform } from '../packages/sdk/src/node/platform.ts'
import { digest } from '../packages/sdk/src/upload/digest.ts'
import type { Report } from './report.ts'
import { peakBytes } from './support/process.ts'
import { createSession, makeRecording, PART_BYTES, type Recording } from './support/recording.ts'
import { inRounds, median, secondsOf } from './support/rounds.ts'
import { call, pauseProcessing, type Service, startService } from './support/service.ts'
import type { Stage } from './support/stage.ts'

const ROUNDS = 3
const PARTS = 32
const AT_ONCE = 4
const BYTES = PARTS * PART_BYTES
const main = fileURLToPath(new URL('../packages/cli/src/main.ts', import.meta.url))
const exec = promisify(execFile)

/** `tapedeck upload` from its start to its end, against the bare transfer of parts whose digests are known. */
export async function upload(stage: Stage): Promise<Report> {
  const path = join(stage.dir, 'recording.mcap')
  const recording = makeRecording(PARTS)
  const { block, sha256 } = recording
  await writeRepeated(path, block)
  const service = await startService(stage)
  await pauseProcessing(service)
  const partPath = await partFile(stage, block)
  let most = 0
  const rounds = await inRounds(ROUNDS, [
    async () => {
      const { seconds, peak } = await withCommand(stage, service, path)
      most = Math.max(most, peak)
      return seconds
    },
    () => withCurl(service, partPath, recording),
    () => secondsOf(() => hashingPass(path, sha256)),
    () => secondsOf(() => exec('sha256sum', [path])),
    () => secondsOf(() => exec('openssl', ['dgst', '-sha256', path])),
  ])
  const seconds = (index: number) => median(rounds.map((round) => round[index] ?? Number.NaN))
  const ratio = (one: number, other: number) =>
    median(rounds.map((round) => (round[one] ?? Number.NaN) / (round[other] ?? Number.NaN)))
  const rate = (index: number) => `${(BYTES / 2 ** 20 / seconds(index)).toFixed(0)} MiB/s`
  const time = (index: number) => `${seconds(index).toFixed(2)} s`
  return {
    title: 'Upload: a recording from disk to the service',
    story: `A file of ${BYTES / 2 ** 30} GiB in parts of 64 MiB, ${AT_ONCE} at once, median of ${ROUNDS} rounds. \`tapedeck upload\` is timed as a process: start, one pass that hashes the file and every part, creation, parts, completion. Parts of it that wait for their answers leave their place to the next. Its baseline is \`curl --parallel\` putting the same parts, with digests that it is given, to the same service, and nothing else. The hashing pass alone is timed against programs that hash the whole file once and no parts.`,
    figures: [
      {
        what: '`tapedeck upload`, digests included, against `curl` with known digests: throughput',
        ours: rate(0),
        baseline: rate(1),
        ratio: 1 / ratio(0, 1),
        target: { atLeast: 0.6 },
      },
      {
        what: 'peak memory of `tapedeck upload`, against 200 MB',
        ours: `${(most / 1e6).toFixed(0)} MB`,
        baseline: '200 MB',
        ratio: most / 200e6,
        target: { atMost: 1 },
      },
      {
        what: 'digests of file and parts, against `sha256sum`: time',
        ours: time(2),
        baseline: time(3),
        ratio: ratio(2, 3),
        target: { atMost: 1.3 },
      },
      {
        what: 'the same against `openssl dgst -sha256`',
        ours: time(2),
        baseline: time(4),
        ratio: ratio(2, 4),
      },
    ],
  }
}

async function writeRepeated(path: string, block: Buffer): Promise<void> {
  const handle = await open(path, 'w')
  for (let part = 0; part < PARTS; part++) await handle.write(block)
  await handle.close()
}

/** curl sends files: the one block that every part is. */
async function partFile(stage: Stage, block: Buffer): Promise<string> {
  const path = join(stage.dir, 'part.bin')
  const handle = await open(path, 'w')
  await handle.write(block)
  await handle.close()
  return path
}

async function withCommand(
  stage: Stage,
  service: Service,
  path: string,
): Promise<{ seconds: number; peak: number }> {
  const state = join(stage.dir, 'state')
  const args = ['upload', path, '--site', 'bench', '--parallel', String(AT_ONCE), '--json']
  let peak = 0
  let session = ''
  const seconds = await secondsOf(async () => {
    const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', main, ...args], {
      env: {
        ...process.env,
        TAPEDECK_URL: service.url,
        TAPEDECK_API_KEY: service.key,
        XDG_STATE_HOME: state,
        // As bin/tapedeck.mjs sets it.
        NODE_COMPILE_CACHE: join(stage.dir, 'compiled'),
      },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    // The kernel keeps the high-water mark: what is read last, shortly before the end, is the peak.
    const watching = setInterval(async () => {
      peak = Math.max(peak, (await peakBytes(child.pid ?? 0)) ?? 0)
    }, 20)
    let text = ''
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk
    })
    const [code] = await once(child, 'close')
    clearInterval(watching)
    if (code !== 0) throw new Error(`tapedeck upload ended with ${code}: ${text}`)
    session = JSON.parse(text).session.id
  })
  await call(service, 'DELETE', `/v1/sessions/${session}`)
  await rm(state, { recursive: true, force: true })
  spawnSync('sync')
  return { seconds, peak }
}

/** The parts alone: their URLs and digests are there before the clock starts. */
async function withCurl(service: Service, partPath: string, recording: Recording): Promise<number> {
  const session = await createSession(service, recording)
  const checksum = `x-amz-checksum-sha256: ${recording.blockSha256.toString('base64')}`
  const transfers = session.upload.parts.map(({ url }, index) => [
    ...(index > 0 ? ['--next'] : []),
    ...['--silent', '--fail', '--upload-file', partPath, '--header', checksum, '--output', '/dev/null', url],
  ])
  const args = ['--parallel', '--parallel-max', String(AT_ONCE), ...transfers.flat()]
  const seconds = await secondsOf(() => exec('curl', args))
  await call(service, 'DELETE', `/v1/sessions/${session.id}`)
  spawnSync('sync')
  return seconds
}

async function hashingPass(path: string, sha256: string): Promise<void> {
  const source = await platform.openPath(path)
  const { signal } = new AbortController()
  const found = await digest(platform, source, PART_BYTES, { signal, onHashed() {} })
  await source.close()
  if (found.sha256 !== sha256 || found.parts.length !== PARTS) throw new Error('the hashing pass is wrong')
}
