import { setImmediate } from 'node:timers/promises'
import { cleanText } from '../bytes.ts'
import { note, openTally, report, type Tally } from '../linear/tally.ts'
import {
  MAX_CHANNELS,
  MAX_TOPIC_CHARACTERS,
  type ScanOptions,
  type Timebase,
  type Visitor,
} from '../recording.ts'
import { isEcal, tellEcal } from './ecal.ts'
import { findEpisodes, tellEpisodes } from './episodes.ts'
import { tellGroups } from './groups.ts'
import { attempt, type Library } from './library.ts'
import { isPossible, treeUnder } from './tree.ts'

/** A file that is being gone through, and what was met on the way. */
export type Measurement = {
  library: Library
  fileBytes: number
  visitor: Visitor
  options: ScanOptions
  /** Number of the channel of a dataset; undefined where there are too many already. */
  channel(
    name: string,
    about: { type: string; declaredRateHz: number | undefined; timesComputed: boolean },
  ): number | undefined
  tell(channel: number, t: number, bytes: number): void
  /** To be awaited now and then: lets others have their turn. */
  breathe(): Promise<void>
  told: number
  /** Datasets that have rows, but no times. */
  timeless: number
  /** Objects that the library cannot read. */
  broken: Tally
  /** Messages of channels beyond what is kept. */
  beyond: Tally
  /** Rows whose time is none, or too far from the others. */
  untimely: Tally
  /** Rows that are told to be there and cannot be: more than the file has room for. */
  impossible: Tally
}

type Opening = { library: Library; fileBytes: number; visitor: Visitor; options: ScanOptions }

const BREATH_MESSAGES = 1 << 16

export async function tellMeasurement(opening: Opening): Promise<Timebase> {
  const measurement = openMeasurement(opening)
  const { library, visitor, options } = measurement
  const root = (await attempt(library.attributes('/'))) ?? new Map<string, string | number>()
  const episodes = isEcal(root) ? undefined : await findEpisodes(library, root)
  const timebase = isEcal(root)
    ? await tellEcal(measurement, root)
    : episodes
      ? await tellEpisodes(measurement, episodes)
      : await tellGroups(measurement)
  if (options.full) await touchAll(measurement)
  reportMeasurement(measurement)
  visitor.progress(1)
  return timebase
}

function openMeasurement(opening: Opening): Measurement {
  const { visitor, options } = opening
  const channels = new Map<string, number>()
  let breathed = 0
  const measurement: Measurement = {
    ...opening,
    told: 0,
    timeless: 0,
    broken: openTally(),
    beyond: openTally(),
    untimely: openTally(),
    impossible: openTally(),
    channel(name, { type, declaredRateHz, timesComputed }) {
      const known = channels.get(name)
      if (known !== undefined || channels.size >= MAX_CHANNELS) return known
      const channel = visitor.channel({
        topic: cleanText(Buffer.from(name), MAX_TOPIC_CHARACTERS),
        schema: type,
        schemaEncoding: '',
        schemaData: new Uint8Array(),
        encoding: 'hdf5',
        ...(declaredRateHz !== undefined && { declaredRateHz }),
        ...(timesComputed && { timesComputed }),
      })
      channels.set(name, channel)
      return channel
    },
    tell(channel, t, bytes) {
      measurement.told++
      visitor.message(channel, t, bytes)
    },
    async breathe() {
      options.signal.throwIfAborted()
      if (measurement.told - breathed < BREATH_MESSAGES) return
      breathed = measurement.told
      await setImmediate()
    },
  }
  return measurement
}

const TOUCHED_BYTES = 8 << 20
/** Wider rows are not read. */
const MAX_ROW_BYTES = 64 << 20

/** Every row of every dataset is read once: what is compressed or has checksums shows its damage then. */
async function touchAll({ library, options, broken, fileBytes }: Measurement) {
  const { datasets } = await treeUnder(library, '')
  const touched = datasets.filter((one) => isPossible(one, fileBytes) && one.rowBytes <= MAX_ROW_BYTES)
  for (const { path, rows, rowBytes } of touched) {
    const step = Math.max(1, Math.floor(TOUCHED_BYTES / Math.max(1, rowBytes)))
    for (let from = 0; from < rows; from += step) {
      options.signal.throwIfAborted()
      const read = await attempt(library.touch(path, from, Math.min(from + step, rows)))
      if (!read) note(broken, 0)
    }
  }
}

function reportMeasurement(measurement: Measurement) {
  const { visitor, told, timeless, broken, beyond, untimely, impossible } = measurement
  report(
    visitor,
    'chunk_corrupt',
    broken,
    `${broken.count} groups, datasets or parts of them cannot be read: what describes or compresses them is damaged`,
  )
  report(
    visitor,
    'index_mismatch',
    impossible,
    `${impossible.count} datasets say that they have more rows than the file has room for; they are not told`,
  )
  report(
    visitor,
    'messages_undecodable',
    beyond,
    `the file has more than ${MAX_CHANNELS} channels; ${beyond.count} messages of those beyond are not told`,
  )
  report(
    visitor,
    'timestamp_invalid',
    untimely,
    `${untimely.count} rows have a time that is none, or more than 104 days from the others, the first being row ` +
      `${untimely.at}; they are not told`,
  )
  if (told + timeless + broken.count + impossible.count + untimely.count === 0) {
    visitor.finding({ code: 'recording_empty', detail: 'the file is whole, but no dataset in it has rows' })
  }
}
