import type { Notes } from '../notes.ts'
import { MAX_CHANNELS, MAX_SCHEMAS } from '../recording.ts'
import { type Channel, parseChannel, parseSchema, type Schema } from './records.ts'

// What ids mean. A definition may be repeated, in chunks and in the summary, but not changed; if it is, the first holds.

/** All schemas together. */
const MAX_SCHEMAS_BYTES = 64 * 2 ** 20

export type Definitions = {
  /** Bodies of records, and where they stand in the file. */
  schema(body: Uint8Array, at: number): void
  channel(body: Uint8Array, at: number): void
  findSchema(id: number): Schema | undefined
  findChannel(id: number): Channel | undefined
  channels(): Iterable<Channel>
}

export function openDefinitions(notes: Notes): Definitions {
  const schemas = new Map<number, Schema>()
  const channels = new Map<number, Channel>()
  let schemasBytes = 0
  return {
    schema(body, at) {
      const schema = parseSchema(body)
      if (!schema) return noteBroken(notes, 'schema', at)
      const known = schemas.get(schema.id)
      if (known) return noteConflict(notes, 'schema', known, schema, nameOf, at)
      if (schemas.size >= MAX_SCHEMAS || schemasBytes + schema.data.length > MAX_SCHEMAS_BYTES) {
        const detail = () =>
          `schema '${schema.name}' at byte ${at} is not kept, nor others behind it: at most ${MAX_SCHEMAS} schemas ` +
          `are, of ${MAX_SCHEMAS_BYTES} bytes in all`
        return notes.add({ code: 'schema_missing', kind: 'schemas', detail })
      }
      schemasBytes += schema.data.length
      schemas.set(schema.id, { ...schema, data: Uint8Array.from(schema.data) })
    },
    channel(body, at) {
      const channel = parseChannel(body)
      if (!channel) return noteBroken(notes, 'channel', at)
      const known = channels.get(channel.id)
      if (known) return noteConflict(notes, 'channel', known, channel, topicOf, at)
      if (channels.size < MAX_CHANNELS) return void channels.set(channel.id, channel)
      const detail = () =>
        `channel '${channel.topic}' at byte ${at} is one more than the ${MAX_CHANNELS} that are kept; its messages ` +
        'are not told'
      notes.add({ code: 'messages_undecodable', kind: 'channels', detail })
    },
    findSchema: (id) => schemas.get(id),
    findChannel: (id) => channels.get(id),
    channels: () => channels.values(),
  }
}

function noteBroken(notes: Notes, what: string, at: number): void {
  const detail = () => `the fields of the ${what} record at byte ${at} do not fit into it; it is left out`
  notes.add({ code: 'chunk_corrupt', kind: `${what} record`, detail })
}

function noteConflict<T extends { id: number; mark: number }>(
  notes: Notes,
  kind: string,
  known: T,
  again: T,
  describe: (definition: T) => string,
  at: number,
): void {
  if (known.mark === again.mark) return
  const detail = () =>
    `${kind} id ${known.id} is ${describe(known)} and is defined otherwise at byte ${at}, as ${describe(again)}; the first ` +
    'definition holds for all its messages'
  notes.add({ code: 'schema_conflict', kind, detail })
}

function nameOf({ name, encoding, data }: Schema): string {
  return `'${name}' (${encoding}, ${data.length} bytes)`
}

function topicOf({ topic, encoding, schemaId }: Channel): string {
  return `'${topic}' (${encoding}, schema ${schemaId})`
}
