import { cleanText } from '../bytes.ts'
import { note, openTally, report } from '../linear/tally.ts'
import {
  type ChannelInfo,
  MAX_CHANNELS,
  MAX_SCHEMA_BYTES,
  MAX_TOPIC_CHARACTERS,
  type Timebase,
} from '../recording.ts'
import { attempt, type Numbers } from './library.ts'
import type { Measurement } from './measurement.ts'
import { isPossible } from './tree.ts'

// Measurements of eCAL: each message is a dataset at the root, named by its number, and each channel a table of five
// columns that says which number was received when, and the how manieth its sender had sent.

const COLUMNS = 5
const ROW_BYTES = 40
const RECEIVED_US = 0
const NUMBER = 1
const SENT_COUNT = 2
const SLICE_ROWS = 4096
/** The first messages of a channel are shown with their content; all are, if the file is read in full. */
const SHOWN_ROWS = 64
const MAX_CONTENT_BYTES = 1 << 18

export function isEcal(root: Map<string, string | number>): boolean {
  return typeof root.get('Channels') === 'string' && root.has('Version')
}

export async function tellEcal(
  measurement: Measurement,
  root: Map<string, string | number>,
): Promise<Timebase> {
  const names = `${root.get('Channels')}`.split(',').filter((name) => name !== '')
  const clock: Clock = { originUs: undefined }
  for (const name of names.slice(0, MAX_CHANNELS)) {
    const { shape } = await measurement.library.entry(`/${name}`)
    const [rows = 0, columns] = shape
    if (columns !== COLUMNS) note(measurement.broken, 0)
    else if (!isPossible({ rows, rowBytes: ROW_BYTES }, measurement.fileBytes))
      note(measurement.impossible, 0)
    else await tellChannel(measurement, clock, name, rows)
  }
  return { kind: 'unix' }
}

/** The first message of the first channel is the origin. */
type Clock = { originUs: bigint | undefined }

async function tellChannel(measurement: Measurement, clock: Clock, name: string, count: number) {
  const { visitor, library } = measurement
  const channel = visitor.channel(await describe(measurement, name))
  const dropped = openTally()
  let sent: bigint | undefined
  for (let from = 0; from < count; from += SLICE_ROWS) {
    const table = await attempt(library.read(`/${name}`, from, Math.min(from + SLICE_ROWS, count)))
    if (!table) note(measurement.broken, 0)
    const rows = toRows(table ?? new BigInt64Array())
    const originUs = clock.originUs ?? rows[0]?.receivedUs
    if (originUs === undefined) continue
    if (clock.originUs === undefined) visitor.origin(originUs * 1000n)
    clock.originUs = originUs
    await tellRows(measurement, channel, rows, originUs, from)
    for (const row of rows) {
      if (sent !== undefined && row.sent > sent + 1n) note(dropped, 0, { bytes: Number(row.sent - sent) - 1 })
      sent = row.sent
    }
    await measurement.breathe()
  }
  const detail =
    `of ${cleanText(Buffer.from(name), 200)}, ${dropped.bytes} messages were sent and not received, in ` +
    `${dropped.count} places: the count of the sender leaves them out`
  report(visitor, 'messages_dropped', dropped, detail, { value: dropped.bytes })
}

/** `proto:pb.People.Person`: how messages are encoded, and as what. */
async function describe({ library }: Measurement, name: string): Promise<ChannelInfo> {
  const stated = `${(await attempt(library.attributes(`/${name}`)))?.get('Channel Type') ?? ''}`
  const colon = stated.indexOf(':')
  const encoding = stated.slice(0, colon) === 'proto' ? 'protobuf' : stated.slice(0, Math.max(0, colon))
  const protobuf = encoding === 'protobuf'
  const read = protobuf ? await attempt(library.attributeBytes(`/${name}`, 'Channel Description')) : undefined
  const definition = read ?? new Uint8Array()
  return {
    topic: cleanText(Buffer.from(name), MAX_TOPIC_CHARACTERS),
    schema: cleanText(Buffer.from(stated.slice(colon + 1)), MAX_TOPIC_CHARACTERS),
    schemaEncoding: protobuf ? 'protobuf' : '',
    schemaData: definition.subarray(0, MAX_SCHEMA_BYTES),
    encoding: cleanText(Buffer.from(encoding), MAX_TOPIC_CHARACTERS),
  }
}

type Row = { receivedUs: bigint; number: bigint; sent: bigint }

function toRows(table: Numbers): Row[] {
  const value = (row: number, column: number) => {
    const stored = table[row * COLUMNS + column] ?? 0
    return typeof stored === 'bigint' ? stored : BigInt(Number.isFinite(stored) ? Math.trunc(stored) : 0)
  }
  return Array.from({ length: Math.floor(table.length / COLUMNS) }, (_, row) => ({
    receivedUs: value(row, RECEIVED_US),
    number: value(row, NUMBER),
    sent: value(row, SENT_COUNT),
  }))
}

async function tellRows(
  measurement: Measurement,
  channel: number,
  rows: Row[],
  originUs: bigint,
  from: number,
) {
  const { library, visitor, options } = measurement
  for (let first = 0; first < rows.length; first += SHOWN_ROWS) {
    const some = rows.slice(first, first + SHOWN_ROWS)
    const maxBytes = options.full || from + first === 0 ? MAX_CONTENT_BYTES : 0
    const sizes = await library.bytes(
      some.map(({ number }) => `/${number}`),
      maxBytes,
    )
    for (const [index, row] of some.entries()) {
      const size = sizes[index]
      const t = Number(row.receivedUs - originUs) * 1000
      if (!size || size.bytes < 0) note(measurement.broken, 0)
      else if (Math.abs(t) > Number.MAX_SAFE_INTEGER) note(measurement.untimely, from + first + index)
      else {
        measurement.tell(channel, t, size.bytes)
        if (size.content) visitor.content(channel, t, size.content)
      }
    }
  }
}
