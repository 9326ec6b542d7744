import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { openDecoder } from '../src/decode.ts'
import { stampReader } from '../src/stamp.ts'
import { damaged } from './support/damage.ts'
import { descriptorSet, field, group, type ProtoField, varintField } from './support/protobuf-writer.ts'

const timestamp: ProtoField[] = [
  { name: 'seconds', number: 1, type: 3 },
  { name: 'nanos', number: 2, type: 5 },
]
const descriptors = descriptorSet({
  'google.protobuf.Timestamp': timestamp,
  'robot.Header': [{ name: 'stamp', number: 2, type: 11, typeName: '.google.protobuf.Timestamp' }],
  'robot.Reading': [
    { name: 'timestamp', number: 6, type: 11, typeName: '.google.protobuf.Timestamp' },
    { name: 'value', number: 1, type: 1 },
    { name: 'name', number: 2, type: 9 },
    { name: 'data', number: 3, type: 12 },
    { name: 'readings', number: 4, type: 2, repeated: true },
    { name: 'level', number: 5, type: 17 },
    { name: 'inner', number: 7, type: 11, typeName: '.robot.Reading' },
    { name: 'flags', number: 8, type: 8, repeated: true },
  ],
  'robot.Pose': [{ name: 'header', number: 1, type: 11, typeName: '.robot.Header' }],
})
const info = { topic: '/x', schemaEncoding: 'protobuf', schemaData: descriptors, encoding: 'protobuf' }

const stamped = group(6, varintField(1, 1_700_000_000n), varintField(2, 5n))
const floats = new Uint8Array(new Float32Array([1, Number.NaN]).buffer)
const double = new Uint8Array(new Float64Array([2.5]).buffer)
const message = Uint8Array.from(
  Buffer.concat([
    Uint8Array.of(0x09),
    double,
    field(2, Buffer.from('ä')),
    field(3, Uint8Array.of(1, 2)),
    field(4, floats),
    varintField(5, 3n),
    stamped,
    group(7, field(2, Buffer.from('deep'))),
    varintField(8, 1n),
    field(8, Uint8Array.of(0, 1)),
    varintField(99, 7n),
  ]),
)

test('a message is read by its descriptors, and what is not written is zero', async () => {
  const decode = await openDecoder({ ...info, schema: 'robot.Reading' })
  const inner = {
    timestamp: undefined,
    value: 0,
    name: 'deep',
    data: new Uint8Array(),
    readings: [],
    level: 0,
  }
  assert.deepEqual(decode?.(message), {
    timestamp: { seconds: 1_700_000_000n, nanos: 5 },
    value: 2.5,
    name: 'ä',
    data: Uint8Array.of(1, 2),
    readings: [1, Number.NaN],
    level: -2,
    inner: { ...inner, inner: undefined, flags: [] },
    flags: [true, false, true],
  })
})

test('the stamp is found wherever the descriptor says it is', () => {
  const read = stampReader({ ...info, schema: 'robot.Reading' })
  assert.deepEqual(read?.(message), { seconds: 1_700_000_000, nanoseconds: 5 })
  const inHeader = stampReader({ ...info, schema: 'robot.Pose' })
  const pose = group(1, group(2, varintField(1, 12n)))
  assert.deepEqual(inHeader?.(pose), { seconds: 12, nanoseconds: 0 })
  assert.equal(inHeader?.(new Uint8Array()), undefined)
  assert.equal(stampReader({ ...info, schema: 'google.protobuf.Timestamp' }), undefined)
})

test('damaged messages and descriptors are refused or read, and end', async () => {
  const decode = await openDecoder({ ...info, schema: 'robot.Reading' })
  for (const { bytes } of damaged(message, 1)) {
    try {
      decode?.(bytes)
    } catch (error) {
      assert.ok(error instanceof Error && error.name === 'WireFault', String(error))
    }
  }
  for (const { bytes } of damaged(descriptors, 2))
    await openDecoder({ ...info, schemaData: bytes, schema: 'robot.Reading' })
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      stampReader({ ...info, schemaData: bytes, schema: 'robot.Reading' })?.(bytes)
    }),
  )
})

test('a message that holds itself without end is refused', async () => {
  const decode = await openDecoder({ ...info, schema: 'robot.Reading' })
  let deep: Uint8Array = new Uint8Array()
  for (let n = 0; n < 200; n++) deep = group(7, deep)
  assert.throws(() => decode?.(deep), /deep/)
})
