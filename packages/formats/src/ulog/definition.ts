import { MAX_SCHEMA_BYTES, MAX_SCHEMAS } from '../recording.ts'

// The format definitions of a ULog file: `name:type field;type[3] field;…`, in any order, one naming another.

export type Layout = {
  /** Bytes of a data record, without and with the padding at its end: PX4 leaves it out. */
  minBytes: number
  maxBytes: number
  /** Where a field begins; undefined where there is none of this name and type. */
  offsetOf(name: string, type: string): number | undefined
}

export type Definitions = {
  /** `conflict`: the name has another definition already. `full`: there is no room for more. */
  add(text: string): 'kept' | 'conflict' | 'full' | 'damaged'
  /** Undefined where the definition, or one that it names, is missing or makes no sense. */
  layout(name: string): Layout | undefined
  /** Its own text first, then those it names, a line each. */
  text(name: string): Uint8Array
}

type Field = { type: string; count: number; name: string }
type Definition = { text: string; fields: Field[]; told?: Uint8Array }

const MAX_DEPTH = 16
const MAX_MESSAGE_BYTES = 65_535
/** Of all definitions together: real logs have 30 kB. */
const MAX_TEXT_BYTES = 16 << 20

const basicBytes = new Map([
  ...['int8_t', 'uint8_t', 'bool', 'char'].map((type) => [type, 1] as const),
  ...['int16_t', 'uint16_t'].map((type) => [type, 2] as const),
  ...['int32_t', 'uint32_t', 'float'].map((type) => [type, 4] as const),
  ...['int64_t', 'uint64_t', 'double'].map((type) => [type, 8] as const),
])

export function openDefinitions(): Definitions {
  const definitions = new Map<string, Definition>()
  const sizes = new Map<string, number>()
  let textBytes = 0
  let toldBytes = 0

  function fieldBytes({ type, count }: Field, depth: number): number | undefined {
    const one = basicBytes.get(type) ?? messageBytes(type, depth + 1)
    return one === undefined || one * count > MAX_MESSAGE_BYTES ? undefined : one * count
  }

  function messageBytes(name: string, depth: number): number | undefined {
    const known = sizes.get(name)
    if (known !== undefined || depth > MAX_DEPTH) return known
    let bytes = 0
    for (const field of definitions.get(name)?.fields ?? [undefined]) {
      const more = field && fieldBytes(field, depth)
      if (more === undefined || bytes + more > MAX_MESSAGE_BYTES) return undefined
      bytes += more
    }
    sizes.set(name, bytes)
    return bytes
  }

  return {
    add(text) {
      const [, name, fields] = /^([\w/.-]{1,255}):([\x20-\x7e]*)$/.exec(text) ?? []
      if (name === undefined || fields === undefined) return 'damaged'
      const known = definitions.get(name)
      if (known) return known.text === text ? 'kept' : 'conflict'
      if (definitions.size >= MAX_SCHEMAS || textBytes + text.length > MAX_TEXT_BYTES) return 'full'
      textBytes += text.length
      definitions.set(name, { text, fields: parseFields(fields) })
      return 'kept'
    },

    layout(name) {
      const fields = definitions.get(name)?.fields
      const maxBytes = messageBytes(name, 0)
      if (!fields || maxBytes === undefined) return undefined
      const offsets = new Map<string, number>()
      let [at, minBytes] = [0, 0]
      for (const field of fields) {
        offsets.set(`${field.type} ${field.name}`, at)
        at += fieldBytes(field, 0) ?? 0
        if (!field.name.startsWith('_padding')) minBytes = at
      }
      return { minBytes, maxBytes, offsetOf: (field, type) => offsets.get(`${type} ${field}`) }
    },

    text(name) {
      const definition = definitions.get(name)
      if (!definition) return new Uint8Array()
      definition.told ??= encode(
        toldBytes > MAX_TEXT_BYTES
          ? [definition.text]
          : withNested(definitions, name).map(({ text }) => text),
      )
      toldBytes += definition.told.length
      return definition.told
    },
  }
}

function parseFields(text: string): Field[] {
  return text
    .split(';')
    .filter((field) => field !== '')
    .map((field) => {
      const [, type = '', count = '1', name = ''] = /^(\w+)(?:\[(\d{1,5})\])? (\w+)$/.exec(field) ?? []
      return { type, count: Number(count), name }
    })
}

function withNested(definitions: Map<string, Definition>, name: string): Definition[] {
  const names = new Set([name])
  let bytes = 0
  for (const next of names) {
    const definition = definitions.get(next)
    bytes += definition?.text.length ?? 0
    if (bytes > MAX_SCHEMA_BYTES) break
    for (const { type } of definition?.fields ?? []) if (definitions.has(type)) names.add(type)
  }
  return [...names].flatMap((each) => definitions.get(each) ?? [])
}

function encode(texts: string[]): Uint8Array {
  return Buffer.from(texts.join('\n').slice(0, MAX_SCHEMA_BYTES), 'latin1')
}
