import { note } from '../linear/tally.ts'
import type { Timebase } from '../recording.ts'
import { isUnixNs, timeName } from '../time-unit.ts'
import { attempt, type Library } from './library.ts'
import type { Measurement } from './measurement.ts'
import { NOMINAL_RATE_HZ, rateIn } from './rate.ts'
import { openStamps, type Stamps } from './stamps.ts'
import { isPossible, type Rowed, treeUnder } from './tree.ts'

// Demonstrations of robots, one behind the other: robomimic and robosuite keep them as `data/demo_N`, ALOHA has one for
// each file. All datasets of an episode have the same rows. When a row was is mostly not recorded: then it follows from
// the rate, and where the file tells none, from a nominal one that is not passed on as if it were the file's.

export type Episodes = { paths: { path: string; label: string | undefined }[]; rateHz: number | undefined }

const DEMO = /^(demo|episode|ep|traj|trajectory)_?\d+$/i

export async function findEpisodes(
  library: Library,
  root: Map<string, string | number>,
): Promise<Episodes | undefined> {
  const entries = await library.list('/')
  const names = (kind: 'group' | 'dataset') =>
    entries.filter((one) => one.kind === kind).map(({ name }) => name)
  if (names('group').includes('data')) {
    const demos = ((await attempt(library.list('/data'))) ?? []).filter(
      ({ kind, name }) => kind === 'group' && DEMO.test(name),
    )
    const paths = demos.map(({ name }) => ({ path: `/data/${name}`, label: name })).sort(byNumber)
    const rateHz = rateIn((await attempt(library.attributes('/data'))) ?? root) ?? rateIn(root)
    if (paths.length > 0) return { paths, rateHz }
  }
  const acts = names('dataset').some((name) => /^actions?$/.test(name))
  const observes = names('group').some((name) => /^(observations?|obs)$/.test(name))
  return acts && observes ? { paths: [{ path: '', label: undefined }], rateHz: rateIn(root) } : undefined
}

function byNumber({ label: a }: { label: string }, { label: b }: { label: string }): number {
  return Number(/\d+$/.exec(a)?.[0]) - Number(/\d+$/.exec(b)?.[0])
}

type Clock = { originNs: bigint | undefined; startNs: number }

export async function tellEpisodes(measurement: Measurement, { paths, rateHz }: Episodes): Promise<Timebase> {
  const { library, visitor } = measurement
  const clock: Clock = { originNs: undefined, startNs: 0 }
  for (const [index, { path, label }] of paths.entries()) {
    const { datasets, broken } = await treeUnder(library, path)
    measurement.broken.count += broken
    const stated = path === '' ? undefined : (await attempt(library.attributes(path)))?.get('num_samples')
    const rows = rowsOf(datasets, stated)
    const channels = datasets.filter((one) => belongs(one, rows))
    const possible = channels.filter((one) => isPossible(one, measurement.fileBytes))
    for (let left = channels.length - possible.length; left > 0; left--) note(measurement.impossible, 0)
    reportUneven(measurement, path, rows, possible)
    const stamps = await stampsOf(measurement, possible, rows)
    begin(measurement, clock, stamps)
    if (label !== undefined) visitor.marker(startOf(clock, stamps), label)
    const told = possible.filter((one) => one.path !== stamps?.path)
    if (stamps) await tellStamped(measurement, clock, told, stamps)
    else await tellComputed(measurement, clock, told, rateHz)
    visitor.progress(0.8 + (0.2 * (index + 1)) / paths.length)
  }
  const unix = clock.originNs !== undefined && isUnixNs(clock.originNs)
  return unix ? { kind: 'unix' } : { kind: 'relative', originUnixNs: undefined }
}

/** Of an episode: what it says itself, else what its actions have, else what most datasets have. */
function rowsOf(datasets: Rowed[], stated: string | number | undefined): number {
  const actions = datasets.find(({ name }) => /^actions?$/.test(name))
  if (actions) return actions.rows
  if (typeof stated === 'number' && stated > 0) return stated
  const counts = new Map<number, number>()
  for (const { rows } of datasets) counts.set(rows, (counts.get(rows) ?? 0) + 1)
  return [...counts].sort(([, a], [, b]) => b - a)[0]?.[0] ?? 0
}

/** What is observed has a row for each action, and sometimes one for the state behind the last; matrices have not. */
function belongs({ name, rows }: Rowed, expected: number): boolean {
  return Math.abs(rows - expected) <= 1 || /^(next_)?(obs|observations?)\//.test(name)
}

function reportUneven({ visitor }: Measurement, path: string, rows: number, channels: Rowed[]) {
  const uneven = channels.filter((one) => Math.abs(one.rows - rows) > 1)
  const [first] = uneven
  if (!first) return
  const detail =
    `${uneven.length} datasets of ${path === '' ? 'the episode' : path} have other numbers of rows than its actions, ` +
    `which have ${rows}; the first is ${first.name} with ${first.rows}`
  visitor.finding({
    code: 'index_mismatch',
    detail,
    count: uneven.length,
    value: first.rows,
    threshold: rows,
  })
}

async function stampsOf(
  measurement: Measurement,
  datasets: Rowed[],
  rows: number,
): Promise<Stamps | undefined> {
  const times = datasets.find(
    (one) => one.plain && one.rows === rows && timeName(one.name.split('/').at(-1) ?? ''),
  )
  return times && openStamps(measurement, times)
}

function begin({ visitor }: Measurement, clock: Clock, stamps: Stamps | undefined) {
  if (clock.originNs !== undefined) return
  clock.originNs = stamps && isUnixNs(stamps.firstNs) ? stamps.firstNs : 0n
  visitor.origin(clock.originNs)
}

/** Stamps that are Unix times are told as they are, others count from the beginning of their episode. */
function startOf({ originNs = 0n, startNs }: Clock, stamps: Stamps | undefined): number {
  return stamps && isUnixNs(originNs) ? Number(stamps.firstNs - originNs) : startNs
}

async function tellStamped(measurement: Measurement, clock: Clock, datasets: Rowed[], stamps: Stamps) {
  const channels = openChannels(measurement, datasets, { declaredRateHz: undefined, timesComputed: false })
  const startNs = startOf(clock, stamps)
  let lastNs = startNs
  let row = 0
  for await (const times of stamps.slices()) {
    for (const ns of times) {
      const t = ns === undefined ? Number.NaN : startNs + Number(ns - stamps.firstNs)
      if (Math.abs(t) <= Number.MAX_SAFE_INTEGER) {
        tellRow(measurement, channels, row, t)
        lastNs = Math.max(lastNs, t)
      } else note(measurement.untimely, row)
      row++
    }
    await measurement.breathe()
  }
  clock.startNs = lastNs + (row > 1 ? Math.round((lastNs - startNs) / (row - 1)) : 0)
}

async function tellComputed(
  measurement: Measurement,
  clock: Clock,
  datasets: Rowed[],
  declaredRateHz: number | undefined,
) {
  const channels = openChannels(measurement, datasets, { declaredRateHz, timesComputed: true })
  const rateHz = declaredRateHz ?? NOMINAL_RATE_HZ
  const rows = datasets.reduce((most, one) => Math.max(most, one.rows), 0)
  for (let row = 0; row < rows; row++) {
    tellRow(measurement, channels, row, clock.startNs + Math.round((row * 1e9) / rateHz))
    await measurement.breathe()
  }
  clock.startNs += Math.round((rows * 1e9) / rateHz)
}

type Channel = { channel: number | undefined; rows: number; bytes: number }

function openChannels(
  measurement: Measurement,
  datasets: Rowed[],
  times: { declaredRateHz: number | undefined; timesComputed: boolean },
): Channel[] {
  return datasets.map(({ name, type, rows, rowBytes }) => {
    return { channel: measurement.channel(name, { type, ...times }), rows, bytes: rowBytes }
  })
}

function tellRow(measurement: Measurement, channels: Channel[], row: number, t: number) {
  for (const { channel, rows, bytes } of channels) {
    if (row >= rows) continue
    if (channel === undefined) note(measurement.beyond, 0)
    else measurement.tell(channel, t, bytes)
  }
}
