import { execFile } from 'node:child_process'
import { stat } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { makeBag, makeDb3, makeFilm, makeMcap, makeUlog } from './formats/make.ts'
import type { Measured } from './formats/measure.ts'
import type { Figure, Report } from './report.ts'
import { inRounds, median } from './support/rounds.ts'
import type { Stage } from './support/stage.ts'

const ROUNDS = 3
const MB = 2 ** 20
const MEMORY_LIMIT_BYTES = 256 * MB
/** Shrinks to a gigabyte. */
const MCAP_BYTES = 1340 * MB
const measurePath = fileURLToPath(new URL('./formats/measure.ts', import.meta.url))

/** Reading recordings, beside the libraries of their formats. */
export async function formats(stage: Stage): Promise<Report> {
  const figures = [
    ...(await mcapFigures(await makeMcap(stage.dir, MCAP_BYTES))),
    ...(await pair('bag, 256 MB', await makeBag(stage.dir, 256 * MB), '`@foxglove/rosbag`', 'bag messages')),
    ...(await pair('db3, 256 MB', await makeDb3(stage.dir, 256 * MB), 'bare `node:sqlite`', 'sqlite rows')),
    ...(await pair('ULog, 64 MB', await makeUlog(stage.dir, 64 * MB), '`@foxglove/ulog`', 'ulog messages')),
    ...(await pair('MP4, 240 MB', await makeFilm(stage.dir, 30_000), '`mediabunny`', 'film packets')),
  ]
  return {
    title: 'Formats: reading recordings',
    story: `Each reader in a fresh process on files that our own generator makes: an MCAP of a gigabyte (zstd, chunks of 1 MiB, 12 channels), and smaller ones of other formats; from the page cache, median of ${ROUNDS} rounds, told in seconds. All of them must find the same messages. "Index" is a scan by the indexes alone, "full" one that reads and verifies everything, "analysis" what the service does with a recording.`,
    figures,
    notes: [
      'The bare index read by `@mcap/core` is its summary and every message index behind a chunk, parsed by its own parser; it makes nothing of them.',
      'Both readers of MCAP unpack with the zstd of Node and verify the CRC of each chunk.',
      'ULog has no index: it is read as a whole, whatever is asked for.',
      'SQLite needs a local file: the reader of db3 copies the recording first, and checks the pages.',
    ],
  }
}

async function mcapFigures(path: string): Promise<Figure[]> {
  const names = ['index', 'mcap index', 'full', 'mcap messages', 'analysis']
  const [index, theirIndex, full, theirFull, analysis] = await compete(path, names)
  if (!index || !theirIndex || !full || !theirFull || !analysis) throw new Error('a contestant is missing')
  const { size } = await stat(path)
  return [
    figure('MCAP index, against a bare index read by `@mcap/core`', index, theirIndex, { atMost: 1.5 }),
    figure('MCAP index, against a full read by `@mcap/core`', index, theirFull, { atMost: 0.1 }),
    speedup('MCAP full with CRC, times as fast as `@mcap/core`', full, theirFull, { atLeast: 1.4 }),
    figure('MCAP analysis, against a full read by `@mcap/core`', analysis, theirFull),
    {
      what: 'MCAP analysis, bytes read of the file',
      ours: `${(analysis.bytesRead / MB).toFixed(0)} MB`,
      baseline: `${(size / MB).toFixed(0)} MB`,
      ratio: analysis.bytesRead / size,
      target: { atMost: 0.1 },
    },
    ...([['full', full] as const, ['analysis', analysis] as const] as const).map(([name, { peakBytes }]) => ({
      what: `MCAP ${name}, peak resident memory against the limit`,
      ours: `${(peakBytes / MB).toFixed(0)} MB`,
      baseline: `${MEMORY_LIMIT_BYTES / MB} MB`,
      ratio: peakBytes / MEMORY_LIMIT_BYTES,
      target: { atMost: 1 },
    })),
  ]
}

async function pair(what: string, path: string, peer: string, peerName: string): Promise<Figure[]> {
  const [index, full, analysis, theirs] = await compete(path, ['index', 'full', 'analysis', peerName])
  if (!index || !full || !analysis || !theirs) throw new Error('a contestant is missing')
  return [
    figure(`${what}: index, against ${peer}`, index, theirs),
    figure(`${what}: full, against ${peer}`, full, theirs),
    figure(`${what}: analysis, against ${peer}`, analysis, theirs),
  ]
}

function figure(what: string, ours: Measured, theirs: Measured, target?: Figure['target']): Figure {
  const ratio = ours.seconds / theirs.seconds
  return { what, ours: told(ours), baseline: told(theirs), ratio, ...(target && { target }) }
}

function speedup(what: string, ours: Measured, theirs: Measured, target: Figure['target']): Figure {
  return { ...figure(what, ours, theirs, target), ratio: theirs.seconds / ours.seconds }
}

function told({ seconds }: Measured): string {
  return `${seconds.toFixed(2)} s`
}

async function compete(path: string, names: string[]): Promise<Measured[]> {
  const rounds = await inRounds(
    ROUNDS,
    names.map((name) => () => measure(name, path)),
  )
  const counts = new Set(rounds.flat().map(({ messages }) => messages))
  if (counts.size !== 1) throw new Error(`of ${path} different numbers of messages are read: ${[...counts]}`)
  return names.map((_, index) => {
    const runs = rounds.map((round) => round[index]).filter((run) => run !== undefined)
    const middle = (of: (run: Measured) => number) => median(runs.map(of))
    return {
      messages: middle(({ messages }) => messages),
      bytesRead: middle(({ bytesRead }) => bytesRead),
      seconds: middle(({ seconds }) => seconds),
      cpuSeconds: middle(({ cpuSeconds }) => cpuSeconds),
      peakBytes: Math.max(...runs.map(({ peakBytes }) => peakBytes)),
    }
  })
}

async function measure(name: string, path: string): Promise<Measured> {
  const args = ['--disable-warning=ExperimentalWarning', measurePath, name, path]
  const { stdout } = await promisify(execFile)(process.execPath, args)
  return JSON.parse(stdout)
}
