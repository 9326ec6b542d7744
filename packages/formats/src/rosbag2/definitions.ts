import { cleanText } from '../bytes.ts'
import type { Notes } from '../notes.ts'
import { MAX_SCHEMA_BYTES, MAX_SCHEMAS, MAX_TOPIC_CHARACTERS } from '../recording.ts'
import type { Bag } from './bag.ts'

export type Definition = { encoding: string; data: Uint8Array }
export type Definitions = {
  /** Empty where the file has none. */
  of(type: string): Definition
  /** Says what is wrong with the definition of a topic's type, if anything. */
  noteProblem(type: string, topic: string, channel: number): void
}

/** All definitions together; past it none is kept. */
const MAX_DEFINITIONS_BYTES = 64 * 2 ** 20
/** The recorder writes 'unknown' where it did not find the definition. */
const ENCODINGS = ['ros2msg', 'ros2idl']
const NONE: Definition = { encoding: '', data: new Uint8Array() }

export async function readDefinitions(bag: Bag, notes: Notes): Promise<Definitions> {
  const kept = new Map<string, Definition>()
  const conflicting = new Set<string>()
  let bytes = 0
  for await (const row of bag.definitions()) {
    const type = cleanText(row.type, MAX_TOPIC_CHARACTERS)
    const encoding = cleanText(row.encoding, MAX_TOPIC_CHARACTERS)
    const before = kept.get(type)
    if (before && Buffer.compare(before.data, row.data) !== 0) conflicting.add(type)
    if (before || kept.size >= MAX_SCHEMAS || !ENCODINGS.includes(encoding)) continue
    bytes += row.data.length
    const data = bytes <= MAX_DEFINITIONS_BYTES ? row.data.subarray(0, MAX_SCHEMA_BYTES) : new Uint8Array()
    kept.set(type, { encoding, data })
  }
  return {
    of: (type) => kept.get(type) ?? NONE,
    noteProblem(type, topic, channel) {
      if (conflicting.has(type)) {
        const detail = () =>
          `${type}, the type of '${topic}', has two definitions that differ; the first holds`
        notes.add({ code: 'schema_conflict', kind: 'definition', detail, channel })
      }
      if (!bag.isDefining || kept.has(type)) return
      const detail = () =>
        `the definition of ${type}, the type of '${topic}', is missing; its messages cannot be decoded`
      notes.add({ code: 'schema_missing', kind: 'definition', detail, channel })
    },
  }
}
