import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Source } from '../src/recording.ts'
import { rosbag } from '../src/rosbag.ts'
import { ascii, join, lz4Frame, record, type Written, writeBag, writeOldBag } from './support/bag-writer.ts'
import { bytesSource, collect } from './support/collect.ts'
import { connections, drive, messages } from './support/drive.ts'
import { codesOf, countOf, detailOf } from './support/outcome.ts'
import { withstands } from './support/withstand.ts'

const scan = (bytes: Uint8Array, options = {}) => collect(rosbag, bytesSource(bytes), options)
const whole = messages().length
const plain = writeBag(drive())
const packed = writeBag(drive({ compression: 'lz4', pack: lz4Frame }))

/** The bag with a 32-bit number written over. */
function patched({ bytes }: Written, at: number, value: number): Uint8Array {
  const changed = bytes.slice()
  new DataView(changed.buffer).setUint32(at, value, true)
  return changed
}

function firstChunk({ chunks }: Written) {
  const [first] = chunks
  assert.ok(first)
  return first
}

describe('a cut', () => {
  test('anywhere loses only the messages behind it', async () => {
    const ends = messageEnds(plain)
    for (let at = 0; at < plain.indexAt; at += 997) {
      const told = await scan(plain.bytes.slice(0, at))
      const before = ends.filter((end) => end <= at).length
      assert.equal(countOf(told), before, `cut at ${at}`)
      assert.ok(codesOf(told).includes('recording_truncated'), `cut at ${at}`)
    }
  })

  test('of packed chunks loses none of those that are whole', async () => {
    for (let at = 4200; at < packed.indexAt; at += 2003) {
      const told = await scan(packed.bytes.slice(0, at))
      const before = packed.chunks.filter(({ dataAt, dataBytes }) => dataAt + dataBytes <= at).length
      assert.ok(countOf(told) >= before * 110, `cut at ${at}`)
      assert.ok(codesOf(told).includes('recording_truncated'), `cut at ${at}`)
    }
  })

  test('inside the index loses no message', async () => {
    const told = await scan(plain.bytes.slice(0, plain.indexAt + 300))
    assert.equal(countOf(told), whole)
    assert.deepEqual(codesOf(told), ['recording_truncated'])
  })

  test('of a version 1.2 bag loses only the messages behind it', async () => {
    const bytes = writeOldBag(connections, messages())
    const told = await scan(bytes.slice(0, bytes.length - 10))
    assert.equal(countOf(told), whole - 1)
    assert.deepEqual(codesOf(told), ['recording_truncated'])
  })

  test('says where it is and what should have followed', async () => {
    const { at, dataAt } = firstChunk(plain)
    const told = await scan(plain.bytes.slice(0, dataAt + 1000))
    const detail = detailOf(told, 'recording_truncated')
    assert.match(
      detail,
      new RegExp(`chunk at byte ${at} says that \\d+ bytes follow, and the file ends 1000 bytes on`),
    )
    assert.match(detail, /; \d+ messages of it are read/)
  })

  /** Where in the file every message ends, from the records of the chunks. */
  function messageEnds({ bytes, chunks }: Written): number[] {
    const view = new DataView(bytes.buffer)
    return chunks.flatMap(({ dataAt, dataBytes }) => {
      const ends: number[] = []
      for (let at = dataAt; at < dataAt + dataBytes; ) {
        const header = view.getUint32(at, true)
        const isMessage = Buffer.from(bytes.subarray(at, at + 4 + header)).includes('op=\u0002')
        at += 8 + header + view.getUint32(at + 4 + header, true)
        if (isMessage) ends.push(at)
      }
      return ends
    })
  }
})

describe('a length that lies', () => {
  const { dataAt, at } = firstChunk(plain)
  const lies = { 'to 4 GiB': 2 ** 32 - 1, 'to nothing': 0, 'by a little': firstChunk(plain).dataBytes + 13 }
  for (const [lie, value] of Object.entries(lies)) {
    test(`${lie} costs no message`, async () => {
      const told = await scan(patched(plain, dataAt - 4, value))
      assert.equal(countOf(told), whole)
    })
  }

  test('is described', async () => {
    const told = await scan(patched(plain, dataAt - 4, 2 ** 32 - 1))
    assert.match(
      detailOf(told, 'chunk_corrupt'),
      new RegExp(
        `chunk at byte ${at} says that 4294967295 bytes follow, and the next record stands \\d+ bytes on`,
      ),
    )
  })

  test('in a header does not hide the records behind it', async () => {
    const told = await scan(patched(plain, at, 2 ** 31))
    assert.equal(countOf(told), whole)
    assert.ok(codesOf(told).includes('chunk_corrupt'))
  })

  test('about what a packed chunk holds is not believed', async () => {
    const first = firstChunk(packed)
    const sizeAt = Buffer.from(packed.bytes).indexOf('size=', first.at) + 5
    for (const size of [2 ** 32 - 1, 2 ** 28, 100]) {
      const told = await scan(patched(packed, sizeAt, size))
      assert.ok(countOf(told) >= whole - 110, `${size}`)
      assert.ok(told.findings.length > 0, `${size}`)
    }
  })
})

describe('an index that lies', () => {
  const countAt =
    Buffer.from(plain.bytes).indexOf('count=', firstChunk(plain).dataAt + firstChunk(plain).dataBytes) + 6

  test('about how many messages it names is not believed', async () => {
    const told = await scan(patched(plain, countAt, 2 ** 31))
    assert.equal(countOf(told), whole)
    assert.match(
      detailOf(told, 'index_mismatch'),
      /holds 110 messages, its index names \d+; it has \d+ bytes for 2147483648/,
    )
  })

  test('about where they stand is not believed', async () => {
    const entries = plain.bytes.length
    const indexAt = firstChunk(plain).dataAt + firstChunk(plain).dataBytes
    const firstOffset = Buffer.from(plain.bytes).indexOf('op=\u0004', indexAt) + 4 + 4 + 8
    assert.ok(firstOffset < entries)
    const told = await scan(patched(plain, firstOffset, 2 ** 31))
    assert.equal(countOf(told), whole)
    assert.match(detailOf(told, 'index_mismatch'), /has a message at offset 2147483648/)
  })

  test('about its own place is searched for no further', async () => {
    const at = Buffer.from(plain.bytes).indexOf('index_pos=') + 10
    for (const place of [1, 5000, plain.bytes.length - 1]) {
      const told = await scan(patched(plain, at, place))
      assert.equal(countOf(told), whole, `${place}`)
      assert.ok(codesOf(told).includes('index_mismatch'), `${place}`)
    }
    const beyond = await scan(patched(plain, at + 4, 2 ** 8))
    assert.equal(countOf(beyond), whole)
    assert.match(detailOf(beyond, 'recording_truncated'), /index should begin at byte 1099511\d+/)
  })

  test('about the number of chunks is a mismatch', async () => {
    const at = Buffer.from(plain.bytes).indexOf('chunk_count=') + 12
    const told = await scan(patched(plain, at, 7))
    assert.deepEqual(codesOf(told), ['index_mismatch'])
    assert.match(
      detailOf(told, 'index_mismatch'),
      /says 3 connections and 7 chunks, the index at byte \d+ has 3 and 4/,
    )
  })

  test('whose number of chunks has lost its name is one too', async () => {
    const bytes = Uint8Array.from(plain.bytes)
    bytes[Buffer.from(bytes).indexOf('chunk_count=')] = 'd'.charCodeAt(0)
    const told = await scan(bytes)
    assert.match(detailOf(told, 'index_mismatch'), /says 3 connections and nothing of chunks, the index/)
  })
})

test('a chunk that cannot be unpacked costs its messages, and says how many', async () => {
  const chunks = drive({ compression: 'lz4', pack: lz4Frame }).chunks.map((chunk, number) =>
    number === 0
      ? { ...chunk, pack: () => ascii('no lz4 at all, and long enough to hold the chunk'.repeat(9)) }
      : chunk,
  )
  const told = await scan(writeBag({ connections, chunks }).bytes)
  assert.equal(countOf(told), whole - 110)
  assert.match(
    detailOf(told, 'chunk_corrupt'),
    /not a sound lz4 frame.*0 messages of it are read, its index names 110; the index counts 331 messages/,
  )
})

test('after a bad lz4 chunk good ones are still read, of this bag and of others', async () => {
  await scan(patched(packed, firstChunk(packed).dataAt, 0))
  assert.deepEqual((await scan(packed.bytes, { full: true })).findings, [])
})

test('a broken bz2 chunk is described', async () => {
  const bytes = writeBag(
    drive({ perChunk: 1000, compression: 'bz2', pack: () => ascii('BZh9 and no more') }),
  ).bytes
  const told = await scan(bytes)
  assert.equal(countOf(told), 0)
  assert.match(detailOf(told, 'chunk_corrupt'), /cannot be decompressed: .*its index names 331/)
})

test('a compression that nobody knows leaves what the index tells', async () => {
  const told = await scan(writeBag(drive({ compression: 'zip', pack: (records) => records })).bytes)
  assert.equal(countOf(told), whole)
  assert.match(
    detailOf(told, 'messages_undecodable'),
    /compressed by 'zip', and only none, lz4 and bz2 are read/,
  )
  assert.ok(told.channels.every(({ contents }) => contents === 0))
})

test('records inside a chunk that break cost only themselves', async () => {
  const { dataAt } = firstChunk(plain)
  const second = Buffer.from(plain.bytes).indexOf('op=\u0002', dataAt + 3000)
  const told = await scan(patched(plain, second - 4, 2 ** 30))
  assert.equal(countOf(told), whole - 1)
  assert.match(
    detailOf(told, 'chunk_corrupt'),
    /records break at byte \d+ of the chunk at byte 4109, \d+ bytes/,
  )
})

test('messages of a connection that nobody defines are counted, not told', async () => {
  const told = await scan(writeBag({ ...drive(), connections: connections.slice(0, 2) }).bytes)
  assert.equal(countOf(told), whole - 1)
  assert.deepEqual(codesOf(told), ['messages_undecodable'])
  assert.equal(told.findings[0]?.count, 1)
})

test('zeros at the end of a bag that was not closed were never written over', async () => {
  const bytes = join([writeBag(drive({ isClosed: false })).bytes, new Uint8Array(100_000)])
  const told = await scan(bytes)
  assert.equal(countOf(told), whole)
  assert.deepEqual(codesOf(told), ['index_missing', 'recording_truncated'])
})

test('a chunk too large to hold is taken message by message', async () => {
  const payload = 150 * 2 ** 20
  const source = hugeBag(payload)
  const told = await collect(rosbag, source)
  assert.deepEqual(
    told.channels.map(({ topic, count, bytes }) => [topic, count, bytes]),
    [['/camera', 2, 2 * payload]],
  )
  assert.deepEqual(codesOf(told), ['index_missing'])
  assert.ok(told.read.bytes < 2 ** 20, `${told.read.bytes} bytes read`)
})

/** Two messages of zeros in one chunk, made up as they are read. */
function hugeBag(payload: number): Source {
  const [, camera] = connections
  assert.ok(camera)
  const empty = writeBag({ connections: [camera], chunks: [], isClosed: false }).bytes
  const small = writeBag({
    connections: [camera],
    chunks: [{ messages: [{ conn: 1, sec: 1_700_000_000, nano: 0, data: new Uint8Array() }] }],
    isClosed: false,
  })
  const { dataAt, dataBytes } = firstChunk(small)
  const head = small.bytes.slice(empty.length, dataAt)
  const inside = small.bytes.slice(dataAt, dataAt + dataBytes)
  const message = inside.slice(inside.length - 46)
  const chunkBytes = inside.length + payload + message.length + payload
  new DataView(head.buffer).setUint32(head.length - 4, chunkBytes, true)
  for (const part of [inside, message]) new DataView(part.buffer).setUint32(part.length - 4, payload, true)
  const begin = join([empty, head, inside])
  const second = begin.length + payload
  return {
    size: () => begin.length + message.length + 2 * payload,
    async read(offset, length) {
      const bytes = new Uint8Array(length)
      for (const [part, at] of [
        [begin, 0],
        [message, second],
      ] as const) {
        const from = Math.max(offset, at)
        const to = Math.min(offset + length, at + part.length)
        if (from < to) bytes.set(part.subarray(from - at, to - at), from - offset)
      }
      return bytes
    },
  }
}

describe('whatever happens to a bag, the reader withstands it', () => {
  const bags = {
    uncompressed: plain.bytes,
    'with lz4': packed.bytes,
    'never closed': writeBag(drive({ isClosed: false })).bytes,
    'with padding': writeBag(drive({ paddingBytes: 100 })).bytes,
    'of version 1.2': writeOldBag(connections, messages()),
  }
  for (const [name, bytes] of Object.entries(bags)) {
    test(name, () => withstands(rosbag, bytes, 7))
  }
})

describe('where there is next to nothing', () => {
  const cases = {
    'no byte': '',
    'half a first line': '#ROSBAG',
    'a first line': '#ROSBAG V2.0\n',
    'a first line of version 1.2': '#ROSRECORD V1.2\n',
  }
  for (const [name, text] of Object.entries(cases)) {
    test(`${name} is a recording cut short, or an empty one`, async () => {
      const told = await scan(ascii(text))
      assert.deepEqual(codesOf(told), [text.includes('1.2') ? 'recording_empty' : 'recording_truncated'])
    })
  }

  test('another file under the name of a bag says so', async () => {
    const told = await scan(ascii('{"this": "is no bag at all"}'.repeat(100)))
    assert.deepEqual(codesOf(told), ['chunk_corrupt'])
    assert.match(detailOf(told, 'chunk_corrupt'), /does not begin with '#ROSBAG V2.0'/)
  })

  test('records that say nothing end', async () => {
    const nothing = join(Array.from({ length: 5000 }, () => record(2, {})))
    const told = await scan(join([ascii('#ROSBAG V2.0\n'), nothing]))
    assert.equal(countOf(told), 0)
    assert.ok(codesOf(told).includes('chunk_corrupt'))
  })
})
