import { cleanText } from '../bytes.ts'
import { note, openTally, report, type Tally } from '../linear/tally.ts'
import { MAX_TOPIC_CHARACTERS, type Timebase } from '../recording.ts'
import { type Column, rowBytes } from './columns.ts'
import { groupRows, type Reading, rowsOf } from './reading.ts'
import { numberAt, type Rows } from './rows.ts'

// Datasets of LeRobot: one row for each frame, episodes one behind the other. `timestamp` is computed from the frame
// and the rate and begins again with each episode; here episodes follow each other without a pause, as they do in the
// videos of such a dataset.

export type LerobotColumns = { time: Column; episode: Column; frame: Column | undefined; data: Column[] }

export function lerobotColumns(columns: Column[]): LerobotColumns | undefined {
  const flat = (name: string) => columns.find((column) => column.name === name && isNumber(column))
  const time = flat('timestamp')
  const episode = flat('episode_index')
  const data = columns.filter(({ name }) => /^(observation|action)(\.|$)/.test(name))
  return time && episode && data.length > 0 ? { time, episode, frame: flat('frame_index'), data } : undefined
}

function isNumber({ flat, element: { type } }: Column): boolean {
  return flat && ['INT32', 'INT64', 'FLOAT', 'DOUBLE'].includes(type ?? '')
}

type Episode = {
  index: number | undefined
  /** What its first row is stamped, and where that lies from the origin. */
  firstS: number
  startNs: number
  lastNs: number
  lastFrame: number | undefined
}

export async function tellEpisodes(reading: Reading, columns: LerobotColumns): Promise<Timebase> {
  const { visitor } = reading
  const { time, episode: episodes, frame, data } = columns
  const dropped = openTally()
  let channels: number[] | undefined
  let periodNs = 0
  let episode: Episode | undefined
  let row = 0
  visitor.origin(0n)
  for await (const { group, rows } of rowsOf(reading, frame ? [time, episodes, frame] : [time, episodes])) {
    const [times, indexes, frames] = rows.columns
    if (!times?.values || !indexes) {
      reading.missing += rows.count
      row += rows.count
      if (episode) episode.lastFrame = undefined
      continue
    }
    const rateHz = rateOf(rows)
    periodNs ||= rateHz ? 1e9 / rateHz : 0
    channels ??= data.map((column) => tellChannel(reading, column, rateHz))
    const bytes = data.map(({ name }) => rowBytes(group, groupRows(group), name))
    for (let at = 0; at < rows.count; at++, row++) {
      const seconds = numberAt(times, at)
      if (seconds === undefined || !Number.isFinite(seconds)) {
        note(reading.untimely, row)
        continue
      }
      const index = numberAt(indexes, at) ?? episode?.index
      const same = episode?.index === index ? episode : undefined
      const current = same ?? nextEpisode(episode, index, seconds, periodNs)
      const t = current.startNs + Math.round((seconds - current.firstS) * 1e9)
      if (Math.abs(t) > Number.MAX_SAFE_INTEGER) {
        note(reading.untimely, row)
        continue
      }
      if (!same) visitor.marker(t, `episode ${index ?? 'unknown'}`)
      countDropped(dropped, current, frames && numberAt(frames, at), row, t)
      current.lastNs = Math.max(current.lastNs, t)
      episode = current
      reading.told++
      for (const [position, channel] of channels.entries()) visitor.message(channel, t, bytes[position] ?? 0)
    }
  }
  for (const column of channels ? [] : data) tellChannel(reading, column, undefined)
  report(
    visitor,
    'messages_dropped',
    dropped,
    `frame_index leaves out ${dropped.bytes} frames in ${dropped.count} places, the first at row ${dropped.at}`,
    { value: dropped.bytes },
  )
  return { kind: 'relative', originUnixNs: undefined }
}

/** The median of what lies between rows; the first rows are enough, for it is a constant of the dataset. */
function rateOf({ count, columns: [times] }: Rows): number | undefined {
  const steps: number[] = []
  for (let row = 1; row < Math.min(count, 1001); row++) {
    const step = times ? (numberAt(times, row) ?? 0) - (numberAt(times, row - 1) ?? 0) : 0
    if (step > 0) steps.push(step)
  }
  const median = steps.sort((a, b) => a - b)[steps.length >> 1]
  // Stamps of 32 bits are exact to some microseconds.
  return median === undefined ? undefined : Math.round(1000 / median) / 1000
}

function tellChannel({ visitor }: Reading, { name, type }: Column, rateHz: number | undefined): number {
  return visitor.channel({
    topic: cleanText(Buffer.from(name), MAX_TOPIC_CHARACTERS),
    schema: type,
    schemaEncoding: '',
    schemaData: new Uint8Array(),
    encoding: 'parquet',
    ...(rateHz !== undefined && { declaredRateHz: rateHz }),
    timesComputed: true,
  })
}

function nextEpisode(
  before: Episode | undefined,
  index: number | undefined,
  firstS: number,
  periodNs: number,
): Episode {
  const startNs = before ? before.lastNs + Math.round(periodNs) : 0
  return { index, firstS, startNs, lastNs: startNs, lastFrame: undefined }
}

function countDropped(dropped: Tally, episode: Episode, frame: number | undefined, row: number, t: number) {
  const before = episode.lastFrame
  episode.lastFrame = frame
  if (before === undefined || frame === undefined || frame <= before + 1) return
  note(dropped, row, { bytes: frame - before - 1, t })
}
