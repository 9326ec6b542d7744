import { WireFault, wireFields } from './wire.ts'

// A FileDescriptorSet, as far as messages are concerned: what their fields are called and of what type they are.

export type Field = {
  name: string
  number: number
  repeated: boolean
  /** As descriptor.proto numbers them. */
  type: number
  /** Of messages and enumerations: the full name. */
  typeName: string
}

export type Messages = Map<string, Field[]>

const MAX_MESSAGES = 10_000
const MAX_FIELDS = 100_000
const MAX_NESTING = 32
const REPEATED = 3

/** Undefined where the bytes are no descriptor. */
export function parseDescriptors(bytes: Uint8Array): Messages | undefined {
  const messages: Messages = new Map()
  let fields = 0
  const decoder = new TextDecoder()
  const text = (value: bigint | Uint8Array) => (typeof value === 'bigint' ? '' : decoder.decode(value))

  function file(body: Uint8Array): void {
    let scope = ''
    const found: Uint8Array[] = []
    for (const { number, value } of wireFields(body)) {
      if (number === 2) scope = text(value)
      if (number === 4 && typeof value !== 'bigint') found.push(value)
    }
    for (const one of found) message(one, scope, 0)
  }

  function message(body: Uint8Array, scope: string, depth: number): void {
    if (depth > MAX_NESTING || messages.size >= MAX_MESSAGES) throw new WireFault('too many messages')
    let name = ''
    const own: Field[] = []
    const nested: Uint8Array[] = []
    for (const { number, value } of wireFields(body)) {
      if (number === 1) name = text(value)
      if (typeof value === 'bigint') continue
      if (number === 2) own.push(field(value))
      if (number === 3) nested.push(value)
    }
    const full = scope === '' ? name : `${scope}.${name}`
    messages.set(full, own)
    for (const one of nested) message(one, full, depth + 1)
  }

  function field(body: Uint8Array): Field {
    if (++fields > MAX_FIELDS) throw new WireFault('too many fields')
    const result: Field = { name: '', number: 0, repeated: false, type: 0, typeName: '' }
    for (const { number, value } of wireFields(body)) {
      if (number === 1) result.name = text(value)
      if (number === 3) result.number = Number(value)
      if (number === 4) result.repeated = Number(value) === REPEATED
      if (number === 5) result.type = Number(value)
      if (number === 6) result.typeName = text(value).replace(/^\./, '')
    }
    return result
  }

  try {
    for (const { number, value } of wireFields(bytes)) {
      if (number === 1 && typeof value !== 'bigint') file(value)
    }
  } catch (error) {
    if (error instanceof WireFault) return undefined
    throw error
  }
  return messages.size > 0 ? messages : undefined
}
