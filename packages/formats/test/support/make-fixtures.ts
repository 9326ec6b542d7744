import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { zstdCompressSync } from 'node:zlib'
import { writeBag } from './bag-writer.ts'
import * as flash from './dataflash-writer.ts'
import { writeDb3 } from './db3-writer.ts'
import { drive } from './drive.ts'
import { film, fragmentedFilm, matroska, pictures, wav } from './film.ts'
import { hdf5File, type TestDataset } from './hdf5-writer.ts'
import { journey, rows } from './journey.ts'
import { noSummary, writeMcap } from './mcap-writer.ts'
import { parquetFile, timestampNanos } from './parquet-writer.ts'
import * as capture from './pcap-writer.ts'
import { bytesOf, u64 } from './records.ts'
import * as log from './ulog-writer.ts'

// Makes the files in fixtures/, one or more of each format: node packages/formats/test/support/make-fixtures.ts. They
// are kept in the repository, because libraries that write them change; what is told of them must not.

const SEC = 1_700_000_000
const START_NS = BigInt(SEC) * 1_000_000_000n
const folder = join(import.meta.dirname, '../../fixtures')
const range = <T>(count: number, one: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => one(index))
const lines = (...all: string[]) => Buffer.from(`${all.join('\n')}\n`)

const journeyBytes = writeDb3(journey({ rows: rows(1) }))
const fixtures: Record<string, Uint8Array> = {
  'indexed-zstd.mcap': (await writeMcap()).bytes,
  'indexed-lz4.mcap': (await writeMcap({ compression: 'lz4', messages: 60 })).bytes,
  'no-summary.mcap': (await writeMcap({ compression: 'none', messages: 60, without: noSummary })).bytes,
  'unchunked.mcap': (await writeMcap({ messages: 60, without: ['useChunks'] })).bytes,
  'indexed.bag': writeBag(drive({ seconds: 1 })).bytes,
  'unindexed.bag': writeBag(drive({ seconds: 1, isClosed: false })).bytes,
  'version-4.db3': journeyBytes,
  'version-1.db3': writeDb3(journey({ rows: rows(1), version: 1 })),
  'whole.db3.zstd': zstdCompressSync(journeyBytes),
  'flight.ulg': ulogFile(),
  'flight.bin': dataflashFile(),
  'film.mp4': film({ tracks: [pictures(60, { bytes: 80 })] }),
  'fragmented.mp4': fragmentedFilm(
    [pictures(0)],
    range(2, (n) => ({ trackId: 1, decoded: n * 30_000, samples: pictures(30, { bytes: 80 }).samples })),
  ),
  'film.mkv': matroska({
    tracks: [{ number: 1, type: 1, codec: 'V_VP9', defaultDurationNs: 100_000_000 }],
    clusters: range(3, (n) => ({ time: n * 1000, blocks: range(10, matroskaBlock) })),
    duration: 3000,
  }),
  'sound.wav': wav({ rate: 8000, channels: 1, bits: 16, data: new Uint8Array(16_000).fill(3) }),
  'episodes.parquet': episodesFile(),
  'table.parquet': parquetFile({
    columns: [
      {
        name: 'timestamp',
        kind: 'INT64',
        values: range(100, (n) => START_NS + BigInt(n) * 20_000_000n),
        logical: timestampNanos,
      },
      { name: 'speed', kind: 'DOUBLE', values: range(100, (n) => n / 10) },
    ],
  }),
  'robomimic.hdf5': await hdf5File({
    data: {
      attributes: { env_args: JSON.stringify({ env_kwargs: { control_freq: 20 } }) },
      demo_0: { actions: matrix(60, 7), obs: { joint_pos: matrix(60, 6) } },
      demo_1: { actions: matrix(40, 7), obs: { joint_pos: matrix(40, 6) } },
    },
  }),
  'aloha.hdf5': await hdf5File({
    attributes: { sim: 0, fps: 50 },
    action: matrix(100, 14),
    observations: { qpos: matrix(100, 14), qvel: matrix(100, 14) },
  }),
  'euroc.csv': lines(
    '#timestamp [ns],w_RS_S_x [rad s^-1],w_RS_S_y [rad s^-1],w_RS_S_z [rad s^-1],a_RS_S_x [m s^-2]',
    ...range(100, (n) => `${START_NS + BigInt(n) * 5_000_000n},0.01,0.02,-0.03,9.81`),
  ),
  'tum.txt': lines(
    '# timestamp tx ty tz qx qy qz qw',
    ...range(60, (n) => `${SEC + n / 10} ${n / 100} 0 0 0 0 0 1`),
  ),
  'table.tsv': lines('time_s\tspeed', ...range(50, (n) => `${(SEC + n * 0.05).toFixed(2)}\t${n}`)),
  'walk.nmea': Buffer.from(range(40, nmeaEpoch).join('')),
  'walk.gpx': gpxFile(),
  'lidar.pcap': bytesOf(
    capture.header(capture.little),
    ...range(50, (n) => capture.packet(capture.little, SEC, n * 10_000, velodyne(n))),
  ),
  'lidar.pcapng': bytesOf(
    capture.section(capture.little),
    capture.captureInterface(capture.little),
    ...range(50, (n) =>
      capture.enhanced(capture.little, BigInt(SEC) * 1_000_000n + BigInt(n) * 10_000n, velodyne(n)),
    ),
  ),
}
for (const [name, bytes] of Object.entries(fixtures)) writeFileSync(join(folder, name), bytes)

function matroskaBlock(n: number) {
  return { track: 1, offset: n * 100, data: new Uint8Array(40).fill(n) }
}

function ulogFile(): Uint8Array {
  const startUs = 5_000_000
  return bytesOf(
    log.header(startUs),
    log.flags(),
    log.format('imu:uint64_t timestamp;float[3] gyro;uint8_t flag;'),
    log.format('sensor_gps:uint64_t timestamp;uint64_t time_utc_usec;uint8_t fix_type;'),
    log.parameter('MC_P'),
    log.subscribe(1, 'imu'),
    log.subscribe(2, 'sensor_gps'),
    ...range(200, (n) => {
      const us = startUs + n * 10_000
      const imu = log.data(1, u64(us), new Uint8Array(13).fill(n))
      const gps = log.data(2, u64(us), u64(SEC * 1_000_000 + n * 10_000), [3])
      return n % 20 === 0 ? bytesOf(imu, gps) : imu
    }),
    log.text(startUs + 1_000_000, 'landed'),
    log.dropout(12),
  )
}

function dataflashFile(): Uint8Array {
  const startUs = 600_000_000
  return bytesOf(
    flash.descriptions(),
    flash.units(startUs, 163, 's#EEE'),
    flash.message(startUs, 'ArduCopter'),
    flash.mode(startUs, 5),
    ...range(200, (n) => {
      const us = startUs + n * 20_000
      const gps = flash.gps(us, 2288, 252_818_000 + n * 20)
      return n % 10 === 0 ? bytesOf(flash.imu(us), gps) : flash.imu(us)
    }),
    flash.mode(startUs + 2_000_000, 9),
  )
}

function episodesFile(): Uint8Array {
  const frames = [...range(60, (n) => n), ...range(45, (n) => n)]
  return parquetFile({
    columns: [
      { name: 'observation.state', kind: 'FLOAT', values: frames.map((frame) => [frame, 1, 2]) },
      { name: 'action', kind: 'FLOAT', values: frames.map((frame) => [frame, 1]) },
      { name: 'timestamp', kind: 'FLOAT', values: frames.map((frame) => frame / 30) },
      { name: 'frame_index', kind: 'INT64', values: frames },
      { name: 'episode_index', kind: 'INT64', values: frames.map((_, row) => (row < 60 ? 0 : 1)) },
    ],
  })
}

function matrix(count: number, width: number): TestDataset {
  return { values: Float64Array.from({ length: count * width }, (_, n) => n % 100), shape: [count, width] }
}

function nmeaEpoch(second: number): string {
  const clock = `1010${String(second).padStart(2, '0')}`
  return [
    `GPGGA,${clock}.00,4404.1,N,12118.8,W,1,08,0.9,1123.9,M,-19.6,M,,`,
    `GNRMC,${clock}.00,A,4404.1,N,12118.8,W,0.04,359.11,141123,,,A`,
  ]
    .map((body) => {
      const sum = [...Buffer.from(body)].reduce((all, byte) => all ^ byte, 0)
      return `$${body}*${sum.toString(16).toUpperCase().padStart(2, '0')}\r\n`
    })
    .join('')
}

function gpxFile(): Uint8Array {
  const points = range(30, (n) => {
    const time = new Date(SEC * 1000 + n * 1000).toISOString()
    return `<trkpt lat="52.${5000 + n}" lon="13.4"><ele>34.5</ele><time>${time}</time></trkpt>`
  })
  return lines(
    '<?xml version="1.0" encoding="UTF-8"?>',
    '<gpx version="1.1" creator="tapedeck" xmlns="http://www.topografix.com/GPX/1/1">',
    `<trk><name>morning walk</name><trkseg>${points.join('\n')}</trkseg></trk>`,
    '</gpx>',
  )
}

function velodyne(n: number): Uint8Array {
  return capture.ethernet(capture.udp(2368, new Uint8Array(1206).fill(n)))
}
