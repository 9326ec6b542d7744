import { type Field, type Messages, parseDescriptors } from './descriptor.ts'
import { WireFault, type WireField, wireFields } from './wire.ts'

// Messages of protobuf as plain data, by the descriptors that come with the recording. Fields that nobody wrote are
// their zero, as the language has it, so that a check sees what a program would.

const MAX_DEPTH = 32
const MAX_VALUES = 1_000_000
const type = {
  double: 1,
  float: 2,
  int64: 3,
  int32: 5,
  bool: 8,
  string: 9,
  message: 11,
  bytes: 12,
  sfixed32: 15,
  sfixed64: 16,
  sint32: 17,
  sint64: 18,
}

/** Undefined where the descriptors cannot be read or do not know the message. */
export function protobufDecoder(
  descriptors: Uint8Array,
  schema: string,
): ((payload: Uint8Array) => unknown) | undefined {
  const messages = parseDescriptors(descriptors)
  if (!messages?.has(schema)) return undefined
  return (payload) => {
    const budget = { values: MAX_VALUES }
    return decodeMessage(messages, schema, payload, 0, budget)
  }
}

type Budget = { values: number }

function decodeMessage(
  messages: Messages,
  name: string,
  payload: Uint8Array,
  depth: number,
  budget: Budget,
): Record<string, unknown> {
  if (depth > MAX_DEPTH) throw new WireFault(`messages are more than ${MAX_DEPTH} deep`)
  const fields = messages.get(name) ?? []
  const byNumber = new Map(fields.map((field) => [field.number, field]))
  const result: Record<string, unknown> = Object.fromEntries(
    fields.map((field) => [field.name, field.repeated ? [] : zeroOf(field)]),
  )
  for (const found of wireFields(payload)) {
    const field = byNumber.get(found.number)
    if (!field) continue
    if (--budget.values < 0) throw new WireFault(`more than ${MAX_VALUES} values`)
    const list = result[field.name]
    if (!Array.isArray(list)) result[field.name] = one(field, found)
    else if (isPacked(field, found)) for (const value of unpack(field, found.value)) list.push(value)
    else list.push(one(field, found))
  }
  return result

  function one(field: Field, found: WireField): unknown {
    if (field.type !== type.message) return scalar(field, found)
    if (typeof found.value === 'bigint') throw new WireFault(`field ${field.name} is no message`)
    return decodeMessage(messages, field.typeName, found.value, depth + 1, budget)
  }
}

function zeroOf(field: Field): unknown {
  switch (field.type) {
    case type.string:
      return ''
    case type.bytes:
      return new Uint8Array()
    case type.bool:
      return false
    case type.message:
      return undefined
    default:
      return 0
  }
}

function isPacked(field: Field, found: WireField): found is WireField & { value: Uint8Array } {
  const isText = [type.string, type.bytes, type.message].includes(field.type)
  return found.kind === 'bytes' && !isText
}

/** As many values as the bytes hold; each is at least one byte long. */
function unpack(field: Field, bytes: Uint8Array): unknown[] {
  const width = [type.double, 6, type.sfixed64].includes(field.type)
    ? 8
    : [type.float, 7, type.sfixed32].includes(field.type)
      ? 4
      : 0
  const values: unknown[] = []
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  if (bytes.length > MAX_VALUES) throw new WireFault(`a list of ${bytes.length} bytes`)
  for (let at = 0; width > 0 && at + width <= bytes.length; at += width) {
    const value = width === 8 ? view.getBigUint64(at, true) : BigInt(view.getUint32(at, true))
    values.push(scalar(field, { number: field.number, kind: width === 8 ? 'fixed64' : 'fixed32', value }))
  }
  if (width > 0) return values
  let [value, shift] = [0n, 0n]
  for (const byte of bytes) {
    value |= BigInt(byte & 0x7f) << shift
    shift += 7n
    if (byte >= 0x80) continue
    values.push(scalar(field, { number: field.number, kind: 'varint', value: BigInt.asUintN(64, value) }))
    ;[value, shift] = [0n, 0n]
  }
  return values
}

const bits = new DataView(new ArrayBuffer(8))
const utf8 = new TextDecoder()

function scalar(field: Field, { value }: WireField): unknown {
  if (typeof value !== 'bigint') return field.type === type.string ? utf8.decode(value) : value
  bits.setBigUint64(0, value)
  switch (field.type) {
    case type.double:
      return bits.getFloat64(0)
    case type.float:
      return bits.getFloat32(4)
    case type.bool:
      return value !== 0n
    case type.int64:
    case type.sfixed64:
      return BigInt.asIntN(64, value)
    case type.int32:
    case type.sfixed32:
      return Number(BigInt.asIntN(32, value))
    case type.sint32:
    case type.sint64:
      return Number((value >> 1n) ^ -(value & 1n))
    default:
      return value <= Number.MAX_SAFE_INTEGER ? Number(value) : value
  }
}
