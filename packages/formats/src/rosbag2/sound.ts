import type { DatabaseSync } from 'node:sqlite'
import { MAX_CHANNELS, MAX_SCHEMA_BYTES, MAX_SCHEMAS } from '../recording.ts'
import { type Bag, type DefinitionRow, MAX_TEXT_BYTES, type MessageRow, type TopicRow } from './bag.ts'

// A database whose pages were found in order: SQLite answers. Messages come by their ids, which is the order of the
// file, without their contents: those of more than a few hundred bytes lie on pages of their own, which are not
// touched.

const BATCH_ROWS = 1000
const SAFE = Number.MAX_SAFE_INTEGER

export function openSound(
  db: DatabaseSync,
  sizeBytes: number,
  { hasQos, hasDefinitions }: { hasQos: boolean; hasDefinitions: boolean },
): Bag {
  const content = db.prepare('select data from messages where rowid = ?')
  const last = db.prepare('select cast(max(rowid) as real) as id from messages').get()
  return {
    isByPages: false,
    sizeBytes,
    lastId: Number(last?.id ?? 1),
    isDefining: hasDefinitions,
    *topics(): Iterable<TopicRow> {
      const select = db.prepare(
        `select id, ${textColumn('name')} as name, ${textColumn('type')} as type,
                ${textColumn('serialization_format')} as encoding,
                ${hasQos ? textColumn('offered_qos_profiles') : 'null'} as qos
         from topics where id between 0 and ${SAFE} order by id limit ${2 * MAX_CHANNELS}`,
      )
      for (const { id, name, type, encoding, qos } of select.iterate()) {
        yield {
          id: Number(id),
          name: bytesOf(name),
          type: bytesOf(type),
          encoding: bytesOf(encoding),
          qos: bytesOf(qos),
        }
      }
    },
    *definitions(): Iterable<DefinitionRow> {
      if (!hasDefinitions) return
      const select = db.prepare(
        `select ${textColumn('topic_type')} as type, ${textColumn('encoding')} as encoding,
                ${textColumn('encoded_message_definition', MAX_SCHEMA_BYTES)} as data
         from message_definitions order by id limit ${MAX_SCHEMAS}`,
      )
      for (const { type, encoding, data } of select.iterate()) {
        yield { type: bytesOf(type), encoding: bytesOf(encoding), data: bytesOf(data) }
      }
    },
    messages: () => readMessages(db),
    contentOf: async ({ id }) => bytesOf(content.get(id)?.data),
    close: async () => db.close(),
  }
}

/** A text as bytes, since it may be no UTF-8; null where it is longer than it should be, without loading it. */
function textColumn(column: string, maxBytes = MAX_TEXT_BYTES): string {
  return `case when octet_length(${column}) <= ${maxBytes} then cast(${column} as blob) end`
}

function bytesOf(value: unknown): Uint8Array {
  return value instanceof Uint8Array ? value : new Uint8Array()
}

function* readMessages(db: DatabaseSync): Iterable<MessageRow[]> {
  const select = db.prepare(
    `select rowid,
            case when typeof(topic_id) = 'integer' and topic_id between 0 and ${SAFE} then topic_id end,
            case typeof(timestamp) when 'integer' then timestamp >> 32 end,
            timestamp & 4294967295,
            octet_length(data)
     from messages where rowid > ? and rowid <= ${SAFE} order by rowid limit ${BATCH_ROWS}`,
  )
  select.setReturnArrays(true)
  for (let last = -1; ; ) {
    const rows = select.all(last).map(toRow)
    const end = rows.at(-1)?.id
    if (end === undefined || end <= last) return
    yield rows
    last = end
  }
}

function toRow(row: unknown): MessageRow {
  const [id, topic, high, low, bytes] = Array.isArray(row) ? row : []
  return {
    id: numberOr(id, 0),
    topic: typeof topic === 'number' ? topic : undefined,
    high: typeof high === 'number' ? high : undefined,
    low: numberOr(low, 0),
    bytes: numberOr(bytes, 0),
    at: 0,
  }
}

function numberOr(value: unknown, otherwise: number): number {
  return typeof value === 'number' ? value : otherwise
}
