import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { zstdCompressSync } from 'node:zlib'
import { rosbag2 } from '../src/rosbag2.ts'
import { bytesSource, collect } from './support/collect.ts'
import { writeDb3 } from './support/db3-writer.ts'
import { journey, rows } from './support/journey.ts'
import { codesOf, countOf, detailOf } from './support/outcome.ts'
import { withstands } from './support/withstand.ts'

const PAGE_BYTES = 4096

const scan = (bytes: Uint8Array, options = {}) => collect(rosbag2, bytesSource(bytes), options)
const whole = rows(30).length
/** Some hundred pages, so that the tree of the messages has branches. */
const bag = writeDb3(journey({ rows: rows(30) }))
const packed = new Uint8Array(zstdCompressSync(bag))

const pages = Array.from({ length: bag.length / PAGE_BYTES }, (_, page) => page)
/** Those that lead to others, by their first byte; the first page has a header there. */
const branches = pages.filter((page) => page > 0 && bag[page * PAGE_BYTES] === 0x05)
/** Those of messages, behind the first pages of all tables. */
const leaves = pages.filter((page) => page > 6 && bag[page * PAGE_BYTES] === 0x0d)

function zeroed(page: number): Uint8Array {
  return bag.slice().fill(0, page * PAGE_BYTES, (page + 1) * PAGE_BYTES)
}

function rowsOn(page: number): number {
  return new DataView(bag.buffer).getUint16(page * PAGE_BYTES + 3)
}

describe('a damaged page', () => {
  test('of messages costs the messages on it, not those behind it', async () => {
    const page = leaves[leaves.length >> 1]
    assert.ok(page)
    const told = await scan(zeroed(page))
    assert.equal(countOf(told), whole - rowsOn(page))
    assert.deepEqual(codesOf(told), ['chunk_corrupt'])
    assert.match(
      detailOf(told, 'chunk_corrupt'),
      new RegExp(
        `damaged: .*page ${page + 1}.*; its pages are read one by one, which gives ${countOf(told)} messages`,
      ),
    )
  })

  test('that leads to others costs nothing', async () => {
    const [root] = branches
    assert.ok(root)
    const told = await scan(zeroed(root))
    assert.equal(countOf(told), whole)
    assert.deepEqual(codesOf(told), ['chunk_corrupt'])
  })

  test('that leads to itself does not lead in circles', async () => {
    const [root] = branches
    assert.ok(root)
    const circle = bag.slice()
    const view = new DataView(circle.buffer)
    const at = root * PAGE_BYTES
    for (let cell = 0; cell < view.getUint16(at + 3); cell++) {
      view.setUint32(at + view.getUint16(at + 12 + 2 * cell), root + 1)
    }
    const told = await scan(circle)
    assert.equal(countOf(told), whole)
    assert.deepEqual(codesOf(told), ['chunk_corrupt'])
  })

  test('of a content costs that content only', async () => {
    const overflow = pages.find((page) => page > 8 && bag[page * PAGE_BYTES] === 0)
    assert.ok(overflow)
    const broken = bag.slice()
    new DataView(broken.buffer).setUint32(overflow * PAGE_BYTES, 2 ** 31)
    const told = await scan(broken)
    assert.equal(countOf(told), whole)
    assert.deepEqual(codesOf(told), ['chunk_corrupt', 'messages_undecodable'])
    assert.match(
      detailOf(told, 'messages_undecodable'),
      /content of message \d+, of \d+ bytes, cannot be read/,
    )
  })
})

describe('a header', () => {
  const wrong: Record<string, [number, number[]]> = {
    'without its magic': [0, [0, 0, 0, 0]],
    'with a page size that no database has': [16, [0x12, 0x34]],
    'of a version to come': [18, [9, 9]],
    'with a format that nobody knows': [44, [9, 9, 9, 9]],
    'with a list of tables that is none': [100, [0xff]],
  }
  for (const [what, [at, values]] of Object.entries(wrong)) {
    test(`${what} costs no message`, async () => {
      const changed = bag.slice()
      changed.set(values, at)
      const told = await scan(changed)
      assert.equal(countOf(told), whole)
      assert.deepEqual(codesOf(told), ['chunk_corrupt'])
    })
  }

  test('that says more pages than there are is a cut', async () => {
    const changed = bag.slice()
    new DataView(changed.buffer).setUint32(28, 2 ** 31)
    const told = await scan(changed)
    assert.equal(countOf(told), whole)
    assert.match(
      detailOf(told, 'recording_truncated'),
      /has 2147483648 pages of 4096 bytes, and the file ends at byte/,
    )
  })
})

describe('a cut', () => {
  test('loses the messages of the pages behind it, and says how many are read', async () => {
    const rowsBefore = (at: number) =>
      leaves.reduce((sum, page) => ((page + 1) * PAGE_BYTES <= at ? sum + rowsOn(page) : sum), 0)
    assert.equal(rowsBefore(bag.length), whole)
    for (let at = PAGE_BYTES; at < bag.length; at += 41 * PAGE_BYTES + 1001) {
      const told = await scan(bag.slice(0, at))
      assert.ok(countOf(told) >= rowsBefore(at), `cut at ${at}: ${countOf(told)} of ${rowsBefore(at)}`)
      assert.match(detailOf(told, 'recording_truncated'), new RegExp(`; ${countOf(told)} messages are read`))
    }
  })

  test('of a compressed file gives what can be unpacked', async () => {
    const told = await scan(packed.slice(0, packed.length >> 1))
    assert.ok(countOf(told) > 0 && countOf(told) < whole, `${countOf(told)}`)
    assert.match(
      detailOf(told, 'recording_truncated'),
      /bytes of zstd end before their frame does; \d+ bytes came out/,
    )
  })
})

test('a compressed file that is broken gives what can be unpacked', async () => {
  const broken = packed.slice().fill(0xff, packed.length >> 1, (packed.length >> 1) + 2000)
  const told = await scan(broken)
  assert.ok(told.findings.length > 0)
  assert.ok(codesOf(told).some((code) => code === 'chunk_corrupt' || code === 'recording_truncated'))
})

test('a compressed file that unpacks without end is stopped', async () => {
  const bomb = new Uint8Array(zstdCompressSync(new Uint8Array(2 ** 28 + 2 ** 26)))
  const told = await scan(bomb)
  assert.match(detailOf(told, 'recording_truncated'), /unpack to more than \d+, which no recording does/)
})

describe('whatever happens to a bag, the reader withstands it', () => {
  const bags = {
    'in version 4': writeDb3(journey()),
    'in version 1': writeDb3(journey({ version: 1 })),
    'on small pages': writeDb3(journey({ pageBytes: 512 })),
    compressed: new Uint8Array(zstdCompressSync(writeDb3(journey()))),
  }
  for (const [name, bytes] of Object.entries(bags)) test(name, () => withstands(rosbag2, bytes, 7))
})

describe('where there is next to nothing', () => {
  const begins = {
    'no byte': [],
    'half a magic': [...Buffer.from('SQLite')],
    'a magic': [...Buffer.from('SQLite format 3\0')],
    'the magic of zstd': [0x28, 0xb5, 0x2f, 0xfd],
  }
  for (const [name, bytes] of Object.entries(begins)) {
    test(`${name} is a recording cut short`, async () => {
      assert.deepEqual(codesOf(await scan(Uint8Array.from(bytes))), ['recording_truncated'])
    })
  }

  test('another file under the name of a bag says so', async () => {
    const told = await scan(new Uint8Array(Buffer.from('{"this": "is no bag at all"}'.repeat(100))))
    assert.match(
      detailOf(told, 'messages_undecodable'),
      /no SQLite database is found in 2800 bytes, which begin with '{/,
    )
  })
})
