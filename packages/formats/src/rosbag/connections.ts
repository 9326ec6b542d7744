import type { Notes } from '../notes.ts'
import { MAX_CHANNELS, MAX_SCHEMA_BYTES, type Visitor } from '../recording.ts'
import { type Fields, textOf } from './records.ts'

// A connection is one publisher of a topic. Publishers that agree on the type share a channel, as `rosbag info` shows
// them; those that do not are told apart and are a conflict.

/** Connections have a number in bags of version 2.0, and the name of their topic in version 1.2. */
export type ConnectionId = number | string

export type Connections = {
  /** `recordBytes`: what the record takes in a chunk. The first definition of an id holds. */
  add(id: ConnectionId, description: Description, place: { at: number; recordBytes: number }): void
  /** Number of the channel, -1 where it could not be kept, undefined where the connection is unknown. */
  channelOf(id: ConnectionId): number | undefined
  /** What its record takes in the chunk where it is first met; 0 from then on. */
  firstRecordBytes(id: ConnectionId): number
  count(): number
}

type Description = { topic: string; type: string; md5: string; definition: Uint8Array; latched: boolean }
type Connection = { channel: number; recordBytes: number; identity: string }

/** Many short-lived publishers may share a channel. */
const MAX_CONNECTIONS = 10 * MAX_CHANNELS
/** All definitions together; past it none is told. */
const MAX_DEFINITIONS_BYTES = 64 * 2 ** 20
/** The MD5 of nothing: a type without fields has no definition, and lacks none. */
const MD5_OF_EMPTY = 'd41d8cd98f00b204e9800998ecf8427e'

/** From the fields of a connection record's data; the record's own header repeats the topic. */
export function describe(header: Fields, data: Fields): Description {
  return {
    topic: textOf(header, 'topic') || textOf(data, 'topic'),
    type: textOf(data, 'type'),
    md5: textOf(data, 'md5sum'),
    definition: data.get('message_definition') ?? new Uint8Array(),
    latched: textOf(data, 'latching') === '1',
  }
}

/** The same from a definition record of version 1.2. */
export function describeOld(header: Fields): Description {
  return {
    topic: textOf(header, 'topic'),
    type: textOf(header, 'type'),
    md5: textOf(header, 'md5'),
    definition: header.get('def') ?? new Uint8Array(),
    latched: false,
  }
}

export function openConnections(visitor: Visitor, notes: Notes): Connections {
  const connections = new Map<ConnectionId, Connection>()
  const channels = new Map<string, number>()
  /** Of every topic and of every type, the definition that was met first. */
  const known = { topics: new Map<string, string>(), types: new Map<string, string>() }

  const definitions = new Map<string, Uint8Array>()
  let definitionsBytes = 0

  /** Topics of one type share its definition. */
  function keep({ type, md5, definition }: Description): Uint8Array {
    const kept = definitions.get(`${type} ${md5}`)
    if (kept && (kept.length > 0 || definition.length === 0)) return kept
    const data = definition.slice(0, MAX_SCHEMA_BYTES)
    definitionsBytes += data.length
    if (definitionsBytes > MAX_DEFINITIONS_BYTES) return new Uint8Array()
    definitions.set(`${type} ${md5}`, data)
    return data
  }

  function introduce(identity: string, description: Description): number {
    if (channels.size >= MAX_CHANNELS) return -1
    const { topic, type, latched } = description
    const channel = visitor.channel({
      topic,
      schema: type,
      schemaEncoding: 'ros1msg',
      schemaData: keep(description),
      encoding: 'ros1',
      ...(latched ? { latched: true } : {}),
    })
    channels.set(identity, channel)
    noteMissing(notes, description, channel)
    noteConflicts(notes, known, description, channel)
    return channel
  }

  return {
    add(id, description, { at, recordBytes }) {
      const { topic, type, md5, latched } = description
      const identity = JSON.stringify([topic, type, md5, latched])
      const before = connections.get(id)
      if (before && before.identity !== identity) {
        const detail = () =>
          `connection ${id} is ${before.identity} and is defined otherwise, as ${identity}, at byte ${at}; the first ` +
          'definition holds'
        notes.add({ code: 'schema_conflict', kind: 'connection', detail })
      }
      if (before || connections.size >= MAX_CONNECTIONS) return
      const channel = channels.get(identity) ?? introduce(identity, description)
      connections.set(id, { channel, recordBytes, identity })
    },
    channelOf: (id) => connections.get(id)?.channel,
    firstRecordBytes(id) {
      const connection = connections.get(id)
      if (!connection) return 0
      const { recordBytes } = connection
      connection.recordBytes = 0
      return recordBytes
    },
    count: () => connections.size,
  }
}

function noteMissing(notes: Notes, { topic, type, md5, definition }: Description, channel: number) {
  if (definition.length > 0 || md5 === MD5_OF_EMPTY) return
  const detail = () =>
    `the connection of '${topic}' has no definition of ${type || 'its type'}; its messages are counted but cannot be decoded`
  notes.add({ code: 'schema_missing', kind: 'empty', detail, channel })
}

function noteConflicts(
  notes: Notes,
  { topics, types }: { topics: Map<string, string>; types: Map<string, string> },
  { topic, type, md5 }: Description,
  channel: number,
) {
  const definition = `${type} (${md5})`
  const ofTopic = topics.get(topic)
  const ofType = types.get(type)
  topics.set(topic, ofTopic ?? definition)
  types.set(type, ofType ?? md5)
  if (ofTopic !== undefined && ofTopic !== definition) {
    const detail = () =>
      `'${topic}' is published as ${ofTopic} and as ${definition}; they are told as separate channels`
    notes.add({ code: 'schema_conflict', kind: 'topic', detail, channel })
  } else if (ofType !== undefined && ofType !== md5) {
    const detail = () => `'${topic}' defines ${type} with the MD5 ${md5}, another topic with ${ofType}`
    notes.add({ code: 'schema_conflict', kind: 'type', detail, channel })
  }
}
