import { cleanText } from '../bytes.ts'
import { note } from '../linear/tally.ts'
import type { Timebase } from '../recording.ts'
import { isUnixNs, timeName } from '../time-unit.ts'
import type { Measurement } from './measurement.ts'
import { openStamps, type Stamps } from './stamps.ts'
import { isPossible, type Rowed, treeUnder } from './tree.ts'

// A file of no known layout. Where a group holds a dataset of times, the datasets in and below it that have as many
// rows are channels; all groups count by one clock. Rows without times are not told.

export async function tellGroups(measurement: Measurement): Promise<Timebase> {
  const { library, visitor, fileBytes } = measurement
  const { datasets, broken } = await treeUnder(library, '')
  measurement.broken.count += broken
  const possible = datasets.filter((one) => isPossible(one, fileBytes))
  for (let left = datasets.length - possible.length; left > 0; left--) note(measurement.impossible, 0)
  const clocks = possible.filter((one) => one.plain && timeName(one.name.split('/').at(-1) ?? ''))
  const timed = new Set<Rowed>(clocks)
  let originNs: bigint | undefined
  for (const clock of clocks) {
    const stamps = await openStamps(measurement, clock)
    const folder = clock.name.slice(0, clock.name.lastIndexOf('/') + 1)
    const channels = possible.filter(
      (one) => one.rows === clock.rows && one.name.startsWith(folder) && !timed.has(one),
    )
    if (!stamps) continue
    if (originNs === undefined) {
      originNs = stamps.firstNs
      visitor.origin(originNs)
    }
    for (const channel of channels) timed.add(channel)
    await tellGroup(measurement, channels, stamps, originNs)
  }
  reportTimeless(
    measurement,
    possible.filter((one) => !timed.has(one)),
  )
  return originNs !== undefined && isUnixNs(originNs)
    ? { kind: 'unix' }
    : { kind: 'relative', originUnixNs: undefined }
}

async function tellGroup(measurement: Measurement, datasets: Rowed[], stamps: Stamps, originNs: bigint) {
  const about = { declaredRateHz: undefined, timesComputed: false }
  const channels = datasets.map(({ name, type, rowBytes }) => ({
    channel: measurement.channel(name, { type, ...about }),
    bytes: rowBytes,
  }))
  let row = 0
  for await (const times of stamps.slices()) {
    for (const ns of times) {
      const t = ns === undefined ? Number.NaN : Number(ns - originNs)
      if (!(Math.abs(t) <= Number.MAX_SAFE_INTEGER)) note(measurement.untimely, row)
      else {
        for (const { channel, bytes } of channels) {
          if (channel === undefined) note(measurement.beyond, 0)
          else measurement.tell(channel, t, bytes)
        }
      }
      row++
    }
    await measurement.breathe()
  }
}

function reportTimeless(measurement: Measurement, datasets: Rowed[]) {
  if (datasets.length === 0) return
  const { visitor, channel } = measurement
  measurement.timeless = datasets.length
  for (const { name, type } of datasets)
    channel(name, { type, declaredRateHz: undefined, timesComputed: false })
  const names = cleanText(
    Buffer.from(
      datasets
        .slice(0, 20)
        .map(({ name }) => name)
        .join(', '),
    ),
    500,
  )
  const detail =
    `${datasets.length} datasets (${names}) have rows, but neither a dataset of times beside them nor a layout from ` +
    'which times would follow; their rows are not told'
  visitor.finding({ code: 'timestamp_invalid', detail, count: datasets.length })
}
