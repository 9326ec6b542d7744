import { zstdCompressSync } from 'node:zlib'
import type { McapRecordBuilder } from '@mcap/core'
import {
  ascii,
  record as bagRecord,
  join as joined,
  u32,
  writeBag,
} from '../../../formats/test/support/bag-writer.ts'
import * as flash from '../../../formats/test/support/dataflash-writer.ts'
import { writeDatabase, writeDb3 } from '../../../formats/test/support/db3-writer.ts'
import { connections } from '../../../formats/test/support/drive.ts'
import { film, pictures, table } from '../../../formats/test/support/film.ts'
import { hdf5File } from '../../../formats/test/support/hdf5-writer.ts'
import {
  assembleChunk,
  assembleMcap,
  channelOf,
  messageAt,
  ORIGIN_NS,
} from '../../../formats/test/support/mcap-writer.ts'
import * as capture from '../../../formats/test/support/pcap-writer.ts'
import { bytesOf, u64 } from '../../../formats/test/support/records.ts'
import * as log from '../../../formats/test/support/ulog-writer.ts'

// Files that somebody made to do harm: bombs, lies and numbers that no recorder writes. Each is made when it is asked for.

export type Hostile = { filename: string; make: () => Uint8Array | Promise<Uint8Array> }

const MILLION = 1_000_000
/** Ten times what is kept of anything. */
const CROWD = process.env.TEST_THOROUGH ? MILLION : 100_000
const SEC = 1_700_000_000
const nasty = 'a\0b\u0001\u001b[31m\u202e\ud800/\u007f\n"\'\\'
const range = <T>(count: number, one: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => one(index))

export const hostile: Record<string, Hostile> = {
  ...nothingButMagic(),
  ...bombs(),
  ...schemas(),
  ...crowds(),
  ...names(),
  ...times(),
}

function nothingButMagic(): Record<string, Hostile> {
  const magics: [string, Uint8Array][] = [
    ['empty.mcap', new Uint8Array()],
    ['empty.bag', new Uint8Array()],
    ['empty.csv', new Uint8Array()],
    ['magic.mcap', Uint8Array.of(0x89, 0x4d, 0x43, 0x41, 0x50, 0x30, 0x0d, 0x0a)],
    ['magic.bag', ascii('#ROSBAG V2.0\n')],
    ['magic.db3', ascii('SQLite format 3\0')],
    ['magic.db3.zstd', Uint8Array.of(0x28, 0xb5, 0x2f, 0xfd)],
    ['magic.ulg', log.header(0)],
    ['magic.bin', flash.describeItself()],
    ['magic.mp4', bytesOf([0, 0, 0, 16], 'ftypisom', [0, 0, 0, 0])],
    ['magic.mkv', Uint8Array.of(0x1a, 0x45, 0xdf, 0xa3)],
    ['magic.wav', ascii('RIFF\0\0\0\0WAVE')],
    ['magic.parquet', ascii('PAR1PAR1')],
    ['magic.hdf5', Uint8Array.of(0x89, 0x48, 0x44, 0x46, 0x0d, 0x0a, 0x1a, 0x0a)],
    ['magic.csv', ascii('timestamp,x\n')],
    ['magic.nmea', ascii('$GPGGA,')],
    ['magic.gpx', ascii('<?xml version="1.0"?><gpx')],
    ['magic.pcap', capture.header(capture.little)],
    ['magic.pcapng', capture.section(capture.little)],
    ['zeros.mcap', new Uint8Array(1 << 20)],
    ['zeros.bin', new Uint8Array(1 << 20)],
  ]
  return Object.fromEntries(
    magics.map(([filename, bytes]) => [
      `${filename}: nothing but its first bytes`,
      { filename, make: () => bytes },
    ]),
  )
}

const ZEROS_BYTES = 250 * 2 ** 20
let zippedZeros: Uint8Array | undefined
function zipped(): Uint8Array {
  zippedZeros ??= zstdCompressSync(new Uint8Array(ZEROS_BYTES))
  return zippedZeros
}

function bombs(): Record<string, Hostile> {
  return {
    'chunks of MCAP that unpack to 250 MB each': {
      filename: 'bomb.mcap',
      make: () => {
        return assembleMcap((file) => {
          for (let n = 0; n < 6; n++) file.writeChunk(chunkOf('zstd', zipped(), ZEROS_BYTES))
        })
      },
    },
    'a chunk of MCAP that says 1 kB and unpacks to 250 MB': {
      filename: 'liar.mcap',
      make: () => assembleMcap((file) => void file.writeChunk(chunkOf('zstd', zipped(), 1000))),
    },
    'a chunk of MCAP that says 2^40 bytes': {
      filename: 'huge.mcap',
      make: () =>
        assembleMcap(
          (file) => void file.writeChunk(chunkOf('zstd', zstdCompressSync(new Uint8Array(10)), 2 ** 40)),
        ),
    },
    'a chunk of MCAP of zeros, read as records': {
      filename: 'zeros-in-chunk.mcap',
      make: () => assembleMcap((file) => void file.writeChunk(chunkOf('', new Uint8Array(1 << 20), 1 << 20))),
    },
    'a chunk of a bag that says 4 GB': {
      filename: 'bomb.bag',
      make: () =>
        joined([
          ascii('#ROSBAG V2.0\n'),
          bagRecord(5, { compression: ascii('bz2'), size: u32(0xffffffff) }, bzipOfZeros()),
        ]),
    },
    'a database that unpacks to 20 GB': {
      filename: 'bomb.db3.zstd',
      make: () => {
        const block = zipped()
        return joined(range(80, () => block))
      },
    },
    'a dataset that unpacks to a thousand times its size': {
      filename: 'bomb.hdf5',
      make: () =>
        hdf5File({
          data: {
            demo_0: {
              actions: {
                values: new Uint8Array(50_000_000),
                shape: [500, 100_000],
                chunks: [500, 100_000],
                gzip: true,
              },
            },
          },
        }),
    },
    'tables of a film that say 2^32 rows': {
      filename: 'bomb.mp4',
      make: () => {
        const track = pictures(10)
        const tables = {
          stts: table('stts', [[0xffffffff, 1]], 1),
          stsz: bytesOf([0, 0, 0, 20], 'stsz', [0, 0, 0, 0, 0, 0, 0, 1, 0xff, 0xff, 0xff, 0xff]),
        }
        return film({ tracks: [{ ...track, tables }] })
      },
    },
  }
}

function chunkOf(compression: string, records: Uint8Array, uncompressedBytes: number) {
  return {
    messageStartTime: ORIGIN_NS,
    messageEndTime: ORIGIN_NS,
    uncompressedSize: BigInt(uncompressedBytes),
    uncompressedCrc: 0,
    compression,
    records,
  }
}

/** The head of a bzip2 stream, which promises a block of 900 kB. */
function bzipOfZeros(): Uint8Array {
  return bytesOf('BZh9', [0x31, 0x41, 0x59, 0x26, 0x53, 0x59], new Uint8Array(100))
}

/** Definitions that never end, or take longer than a life to read by. */
function schemas(): Record<string, Hostile> {
  const doubling = range(60, (n) => `MSG: a/T${n}\na/T${n + 1} left\na/T${n + 1} right\n`).join(
    `${'='.repeat(80)}\n`,
  )
  const definitions: Record<string, string> = {
    'a definition that holds itself': `a/Imu imu\n${'='.repeat(80)}\nMSG: a/Imu\na/Imu imu\n`,
    'definitions in a circle': `a/B b\n${'='.repeat(80)}\nMSG: a/B\na/C c\n${'='.repeat(80)}\nMSG: a/C\na/B b\n`,
    'a definition with 2^60 leaves': `a/T0 t\n${'='.repeat(80)}\n${doubling}${'='.repeat(80)}\nMSG: a/T60\nuint8 x\n`,
    'a definition of 2^60 empty leaves': `a/T0 t\n${'='.repeat(80)}\n${doubling}${'='.repeat(80)}\nMSG: a/T60\n`,
    'endless lists of nothing': `a/E[] e\n${'='.repeat(80)}\nMSG: a/E\n`,
    'a fixed list of nothing': `a/E[4000000000] e\n${'='.repeat(80)}\nMSG: a/E\n`,
    'a fixed list of 4 billion numbers': 'float64[4000000000] numbers\n',
    'a definition of a megabyte on one line': `uint8 ${'x'.repeat(1 << 20)}\n`,
    'a hundred thousand fields': range(100_000, (n) => `uint8 f${n}\n`).join(''),
    'brackets without end': `uint8${'[]'.repeat(100_000)} x\n`,
  }
  const files: Record<string, Hostile> = {}
  for (const [name, text] of Object.entries(definitions)) {
    files[`${name}, ROS 2`] = { filename: 'schema.mcap', make: () => withSchema('ros2msg', 'cdr', text) }
    files[`${name}, ROS 1`] = { filename: 'schema.mcap', make: () => withSchema('ros1msg', 'ros1', text) }
  }
  files['a descriptor that holds itself'] = {
    filename: 'schema.mcap',
    make: () =>
      withSchema(
        'protobuf',
        'protobuf',
        Buffer.from(range(5000, () => '\x0a\xff\xff\x03').join(''), 'latin1'),
      ),
  }
  files['JSON that is a million lists deep'] = {
    filename: 'deep.mcap',
    make: () => withSchema('jsonschema', 'json', '{}', Buffer.from('['.repeat(MILLION))),
  }
  return files
}

function withSchema(
  encoding: string,
  messageEncoding: string,
  data: string | Uint8Array,
  payload = new Uint8Array(64).fill(255),
): Uint8Array {
  return assembleMcap((file) => {
    file.writeSchema({
      id: 1,
      name: 'sensor_msgs/msg/Imu',
      encoding,
      data: Uint8Array.from(Buffer.from(data)),
    })
    file.writeChannel({ ...channelOf(1, '/imu', 1), messageEncoding })
    for (let n = 0; n < 30; n++) file.writeMessage(messageAt(1, n * 10_000_000, payload))
  })
}

/** Far too many of everything. */
function crowds(): Record<string, Hostile> {
  return {
    'a crowd of channels and schemas of MCAP': {
      filename: 'crowd.mcap',
      make: () =>
        assembleMcap((file) => {
          for (let n = 0; n < CROWD; n++) {
            file.writeSchema({
              id: 1 + (n % 65_535),
              name: `s${n}`,
              encoding: 'ros2msg',
              data: new Uint8Array(4),
            })
            file.writeChannel(channelOf(n % 65_536, `/${n}`, 1 + (n % 65_535)))
            if (n % 16 === 0) file.writeMessage(messageAt(n % 65_536, n))
          }
        }),
    },
    'channels of MCAP that all want one name': {
      filename: 'alike.mcap',
      make: () =>
        assembleMcap((file) => {
          for (let n = 0; n < 12_000; n++) {
            file.writeChannel(channelOf(n, `/imu/data${' '.repeat(n % 50)}`))
            for (let m = 0; m < 3; m++) file.writeMessage(messageAt(n, n * 5_000_000_000 + m))
          }
        }),
    },
    'a crowd of connections of a bag': {
      filename: 'crowd.bag',
      make: () =>
        joined([
          ascii('#ROSBAG V2.0\n'),
          Buffer.concat(
            range(CROWD, (n) => bagRecord(7, { conn: u32(n), topic: ascii(`/${n}`) }, ascii(''))),
          ),
        ]),
    },
    'a crowd of topics and definitions of a database': {
      filename: 'crowd.db3',
      make: () =>
        writeDatabase((db) =>
          db.exec(`
            create temp table numbers as with recursive n(value) as (select 1 union all select value + 1 from n where value < ${CROWD}) select value from n;
            create table schema(schema_version integer, ros_distro text);
            insert into schema values (4, 'jazzy');
            create table topics(id integer primary key, name text, type text, serialization_format text, offered_qos_profiles text, type_description_hash text);
            create table message_definitions(id integer primary key, topic_type text, encoding text, encoded_message_definition text, type_description_hash text);
            create table messages(id integer primary key, topic_id integer, timestamp integer, data blob);
            insert into topics select value, '/' || value, 'a/T' || value, 'cdr', '', '' from numbers;
            insert into message_definitions select value, 'a/T' || value, 'ros2msg', 'uint8 x', '' from numbers;
            insert into messages select value, value, 1700000000000000000 + value, x'00010000' from numbers;`),
        ),
    },
    'a crowd of formats and subscriptions of a ULog': {
      filename: 'crowd.ulg',
      make: () =>
        bytesOf(
          log.header(0),
          log.flags(),
          Buffer.concat(range(CROWD, (n) => log.format(`f${n}:uint64_t timestamp;`))),
          Buffer.concat(range(CROWD, (n) => log.subscribe(n & 0xffff, `f${n}`, n & 0x7f))),
          Buffer.concat(range(70_000, (n) => log.data(n & 0xffff, u64(n * 1000)))),
        ),
    },
    'a table of a million columns': {
      filename: 'crowd.csv',
      make: () =>
        ascii(`timestamp,${range(MILLION, (n) => `c${n}`).join(',')}\n${SEC},${'1,'.repeat(MILLION)}\n`),
    },
    'a line of 50 MB': {
      filename: 'long.csv',
      make: () => ascii(`timestamp,x\n${SEC},${'1'.repeat(50_000_000)}\n${SEC + 1},2\n`),
    },
    'a crowd of tracks of GPX': {
      filename: 'crowd.gpx',
      make: () =>
        ascii(
          `<?xml version="1.0"?><gpx version="1.1">${range(CROWD, (n) => `<trk><name>${n}</name><trkseg><trkpt lat="1" lon="1"><time>2023-11-14T10:10:10Z</time></trkpt></trkseg></trk>`).join('')}</gpx>`,
        ),
    },
    'a million elements of GPX within each other': {
      filename: 'deep.gpx',
      make: () => ascii(`<?xml version="1.0"?><gpx version="1.1">${'<trk>'.repeat(MILLION)}`),
    },
    'a crowd of addresses of NMEA': {
      filename: 'crowd.nmea',
      make: () => ascii(range(CROWD, (n) => sentence(`GP${n.toString(36).toUpperCase()},1`)).join('')),
    },
    'every port of UDP': {
      filename: 'crowd.pcap',
      make: () =>
        bytesOf(
          capture.header(capture.little),
          Buffer.concat(
            range(65_536, (n) =>
              capture.packet(capture.little, SEC, n, capture.ethernet(capture.udp(n, new Uint8Array(4)))),
            ),
          ),
        ),
    },
    'a crowd of datasets': {
      filename: 'crowd.hdf5',
      make: () =>
        hdf5File({
          data: {
            demo_0: Object.fromEntries(range(CROWD / 40, (n) => [`d${n}`, { values: new Uint8Array(2) }])),
          },
        }),
    },
  }
}

function sentence(body: string): string {
  const sum = [...Buffer.from(body)].reduce((all, byte) => all ^ byte, 0)
  return `$${body}*${sum.toString(16).toUpperCase().padStart(2, '0')}\r\n`
}

function names(): Record<string, Hostile> {
  const bytes = Buffer.from(nasty)
  return {
    'a topic of MCAP with control characters': {
      filename: 'names.mcap',
      make: () =>
        assembleMcap((file) => {
          file.writeSchema({ id: 1, name: nasty, encoding: nasty, data: bytes })
          file.writeChannel({ ...channelOf(1, nasty, 1), messageEncoding: nasty })
          file.writeChannel({ ...channelOf(2, '', 7), messageEncoding: '' })
          file.writeChannel({ ...channelOf(3, 'x'.repeat(100_000), 7), messageEncoding: '' })
          for (let n = 0; n < 30; n++) file.writeMessage(messageAt(1 + (n % 3), n))
        }),
    },
    'a topic of a bag with control characters': {
      filename: 'names.bag',
      make: () =>
        writeBag({
          connections: [{ id: 0, topic: nasty, type: nasty, definition: nasty }],
          chunks: [{ messages: [{ conn: 0, sec: SEC, nano: 1, data: bytes }] }],
        }).bytes,
    },
    'a topic of a database with control characters': {
      filename: 'names.db3',
      make: () =>
        writeDb3({
          topics: [{ name: nasty.toWellFormed(), type: nasty.toWellFormed() }],
          rows: [{ topic: 1, ns: BigInt(SEC) * 1_000_000_000n, data: bytes }],
        }),
    },
    'a format of a ULog with control characters': {
      filename: 'names.ulg',
      make: () =>
        bytesOf(
          log.header(0),
          log.flags(),
          log.format(`${nasty}:uint64_t timestamp;`),
          log.subscribe(1, nasty),
          log.data(1, u64(5)),
        ),
    },
    'columns with control characters': {
      filename: 'names.csv',
      make: () =>
        ascii(`timestamp,${nasty.replaceAll('\n', '')}\n${range(20, (n) => `${SEC + n},1`).join('\n')}\n`),
    },
    'a track of GPX with control characters': {
      filename: 'names.gpx',
      make: () =>
        ascii(
          `<?xml version="1.0"?><gpx version="1.1"><trk><name>&#0;&#x1b;\0\x07</name><trkseg>${'<trkpt lat="1" lon="1"><time>2023-11-14T10:10:10Z</time></trkpt>'.repeat(3)}</trkseg></trk></gpx>`,
        ),
    },
    'datasets with control characters': {
      filename: 'names.hdf5',
      make: () =>
        hdf5File({
          'a\u0001b\n': { values: new Float64Array(9) },
          timestamps: { values: Float64Array.from(range(9, (n) => n)) },
        }),
    },
  }
}

/** Times at the ends of what a file can say. */
function times(): Record<string, Hostile> {
  const stamps = [0n, 1n, 2n ** 63n - 1n, 2n ** 63n, 2n ** 64n - 1n, ORIGIN_NS]
  const files: Record<string, Hostile> = {
    'all extreme times of MCAP in one file': {
      filename: 'times.mcap',
      make: () => assembleMcap((file) => stampAll(file, stamps)),
    },
    'a bag at the end of its time': {
      filename: 'times.bag',
      make: () =>
        writeBag({
          connections,
          chunks: [
            {
              messages: [0, 1, 0xffffffff].map((sec) => ({
                conn: 0,
                sec,
                nano: 0xffffffff,
                data: ascii('x'),
              })),
            },
          ],
        }).bytes,
    },
    'chunks whose times lie': {
      filename: 'chunk-times.mcap',
      make: () =>
        assembleMcap((file) => {
          file.writeChannel(channelOf(1, '/a'))
          const chunk = assembleChunk((records) => stampAll(records, stamps))
          file.writeChunk({ ...chunk, messageStartTime: 2n ** 64n - 1n, messageEndTime: 0n })
        }),
    },
  }
  for (const stamp of stamps)
    files[`MCAP that is at ${stamp} all the time`] = {
      filename: 'time.mcap',
      make: () =>
        assembleMcap((file) =>
          stampAll(
            file,
            range(30, () => stamp),
          ),
        ),
    }
  return files
}

function stampAll(file: McapRecordBuilder, stamps: bigint[]): void {
  file.writeChannel(channelOf(1, '/a'))
  for (const logTime of stamps)
    file.writeMessage({ channelId: 1, sequence: 0, logTime, publishTime: logTime, data: new Uint8Array(4) })
}
