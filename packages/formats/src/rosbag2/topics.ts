import { cleanText } from '../bytes.ts'
import type { Notes } from '../notes.ts'
import { MAX_CHANNELS, MAX_TOPIC_CHARACTERS, type Visitor } from '../recording.ts'
import type { Bag } from './bag.ts'
import { readDefinitions } from './definitions.ts'

// Version 1 of the format has topics with a type, version 2 adds the quality of service that publishers offered,
// version 3 a table of metadata, version 4 the definitions of the types.

/** Channels by the id of their topic; -1 for topics beyond those that are kept. */
export type Topics = Map<number, number>

const MAX_TOPICS = 2 * MAX_CHANNELS

export async function tellTopics(bag: Bag, visitor: Visitor, notes: Notes): Promise<Topics> {
  const topics: Topics = new Map()
  /** Of every name, the type that was met first. */
  const types = new Map<string, string>()
  const definitions = await readDefinitions(bag, notes)
  for await (const row of bag.topics()) {
    if (topics.has(row.id) || topics.size >= MAX_TOPICS) continue
    if (topics.size >= MAX_CHANNELS) {
      topics.set(row.id, -1)
      continue
    }
    const topic = nameOf(row.name)
    const type = nameOf(row.type)
    const { encoding: schemaEncoding, data: schemaData } = definitions.of(type)
    const latched = isLatched(row.qos) ? { latched: true } : {}
    const encoding = nameOf(row.encoding)
    const channel = visitor.channel({ topic, schema: type, schemaEncoding, schemaData, encoding, ...latched })
    topics.set(row.id, channel)
    definitions.noteProblem(type, topic, channel)
    noteConflict(notes, types, { topic, type, channel })
  }
  return topics
}

function nameOf(value: Uint8Array): string {
  return cleanText(value, MAX_TOPIC_CHARACTERS)
}

/** Only where every publisher keeps its last message for those who come late. */
function isLatched(qos: Uint8Array): boolean {
  const text = Buffer.from(qos).toString('latin1')
  const durabilities = [...text.matchAll(/durability: *(\w+)/g)].map(([, word]) => word)
  return durabilities.length > 0 && durabilities.every((word) => word === '1' || word === 'transient_local')
}

function noteConflict(
  notes: Notes,
  types: Map<string, string>,
  { topic, type, channel }: { topic: string; type: string; channel: number },
) {
  const first = types.get(topic) ?? type
  types.set(topic, first)
  if (first === type) return
  const detail = () => `'${topic}' is recorded as ${first} and as ${type}; they are told as separate channels`
  notes.add({ code: 'schema_conflict', kind: 'topic', detail, channel })
}
