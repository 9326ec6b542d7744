import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { hdf5 } from '../src/hdf5.ts'
import { bytesSource, collect } from './support/collect.ts'
import { seeded } from './support/damage.ts'
import { passesOnFaults } from './support/failing.ts'
import { hdf5File, type TestDataset, type TestGroup } from './support/hdf5-writer.ts'
import { messages, realFiles, withstands, withstandsCutsAndFlips } from './support/withstand.ts'

const scan = (bytes: Uint8Array, full = false) => collect(hdf5, bytesSource(bytes), { full })
const codes = ({ findings }: { findings: { code: string }[] }) => findings.map(({ code }) => code)
const rows = (count: number, width: number): TestDataset => ({
  values: Float64Array.from({ length: count * width }, (_, index) => index % 100),
  shape: [count, width],
})
const times = (count: number, one: (row: number) => number): TestDataset => ({
  values: Float64Array.from({ length: count }, (_, row) => one(row)),
})

const demo = (count: number): TestGroup => ({
  attributes: { num_samples: count },
  actions: rows(count, 7),
  dones: { values: new Int32Array(count) },
  obs: {
    joint_pos: rows(count, 6),
    image: { values: new Uint8Array(count * 12), shape: [count, 2, 2, 3], chunks: [5, 2, 2, 3], gzip: true },
  },
  camera_matrix: rows(3, 3),
})
const envArgs = JSON.stringify({ env_name: 'Lift', env_kwargs: { control_freq: 50 } })
const robomimic: TestGroup = {
  data: { attributes: { env_args: envArgs }, demo_0: demo(100), demo_10: demo(30), demo_2: demo(20) },
}
const aloha: TestGroup = {
  attributes: { sim: 1 },
  action: rows(100, 14),
  observations: { qpos: rows(100, 14), qvel: rows(100, 14), images: { cam_high: rows(100, 10) } },
}
const channel = { schemaEncoding: '', encoding: 'hdf5', schemaBytes: 0, contents: 0 }

suite('hdf5: episodes', () => {
  test('demonstrations of robomimic are channels, and each is a marker', async () => {
    const result = await scan(await hdf5File(robomimic))
    const computed = {
      ...channel,
      declaredRateHz: 50,
      timesComputed: true,
      count: 150,
      first: 0,
      last: 2_980_000_000,
    }
    assert.deepEqual(
      { ...result, read: 0 },
      {
        timebase: { kind: 'relative', originUnixNs: undefined },
        originNs: 0n,
        channels: [
          { ...computed, topic: 'actions', schema: 'float64[7]', bytes: 8400 },
          { ...computed, topic: 'dones', schema: 'int32', bytes: 600 },
          { ...computed, topic: 'obs/image', schema: 'uint8[2,2,3]', bytes: 1800 },
          { ...computed, topic: 'obs/joint_pos', schema: 'float64[6]', bytes: 7200 },
        ],
        markers: [
          { t: 0, label: 'demo_0' },
          { t: 2_000_000_000, label: 'demo_2' },
          { t: 2_400_000_000, label: 'demo_10' },
        ],
        findings: [],
        read: 0,
      },
    )
  })

  test('where the file tells no rate, times are computed and none is declared', async () => {
    const { channels } = await scan(await hdf5File({ data: { demo_1: demo(41) } }))
    assert.deepEqual(
      channels.map(({ declaredRateHz, timesComputed, last }) => [declaredRateHz, timesComputed, last]),
      Array.from({ length: 4 }, () => [undefined, true, 2_000_000_000]),
    )
  })

  test('an episode of ALOHA has the rate of its attributes, if they state one', async () => {
    for (const [attributes, declared, last] of [
      [{ sim: 1 }, undefined, 4_950_000_000],
      [{ sim: 1, fps: 50 }, 50, 1_980_000_000],
      [{ dt: 0.02 }, 50, 1_980_000_000],
    ] as const) {
      const { channels, markers, findings } = await scan(await hdf5File({ ...aloha, attributes }))
      assert.deepEqual(
        channels.map(({ topic, count, declaredRateHz, last }) => [topic, count, declaredRateHz, last]),
        ['action', 'observations/qpos', 'observations/qvel', 'observations/images/cam_high'].map((topic) => [
          topic,
          100,
          declared,
          last,
        ]),
      )
      assert.deepEqual([markers, findings], [[], []])
    }
  })

  test('a dataset of times is believed before any rate', async () => {
    const stamped = {
      ...aloha,
      attributes: { fps: 50 },
      timestamps: times(100, (row) => 1_700_000_000.5 + row / 10),
    }
    const { channels, timebase, originNs } = await scan(await hdf5File(stamped))
    assert.equal(originNs, 1_700_000_000_500_000_000n)
    assert.deepEqual(timebase, { kind: 'unix' })
    assert.deepEqual(
      channels.map(({ count, timesComputed, declaredRateHz }) => [count, timesComputed, declaredRateHz]),
      Array.from({ length: 4 }, () => [100, undefined, undefined]),
    )
    assert.ok(Math.abs((channels[0]?.last ?? 0) - 9_900_000_000) < 1000)
  })

  test('times that begin again with each episode follow those of the one before', async () => {
    const stamped = (count: number) => ({ ...demo(count), timestamp: times(count, (row) => row / 10) })
    const { channels, markers } = await scan(
      await hdf5File({ data: { demo_0: stamped(20), demo_1: stamped(10) } }),
    )
    assert.deepEqual(
      markers.map(({ t }) => t),
      [0, 2_000_000_000],
    )
    assert.equal(channels[0]?.last, 2_900_000_000)
  })

  test('observations with other rows than the actions are a mismatch, and are told', async () => {
    const uneven = { ...demo(100), obs: { joint_pos: rows(90, 6) } }
    const { findings, channels } = await scan(await hdf5File({ data: { demo_0: uneven } }))
    assert.deepEqual(
      findings.map(({ code, count, value, threshold }) => [code, count, value, threshold]),
      [['index_mismatch', 1, 90, 100]],
    )
    assert.deepEqual(
      channels.map(({ topic, count }) => [topic, count]),
      [
        ['actions', 100],
        ['dones', 100],
        ['obs/joint_pos', 90],
      ],
    )
  })
})

suite('hdf5: other files', () => {
  test('datasets beside a dataset of times are channels', async () => {
    const bytes = await hdf5File({
      imu: {
        time_us: { values: BigInt64Array.from({ length: 50 }, (_, row) => BigInt(5_000_000 + row * 1000)) },
        gyro: rows(50, 3),
      },
      cam: {
        time_us: { values: BigInt64Array.from({ length: 5 }, (_, row) => BigInt(5_000_500 + row * 10_000)) },
        image: rows(5, 30),
      },
      calibration: rows(3, 3),
    })
    const { channels, originNs, timebase, findings } = await scan(bytes)
    assert.equal(originNs, 5_000_500_000n)
    assert.equal(timebase.kind, 'relative')
    assert.deepEqual(
      channels.map(({ topic, count, first, last }) => [topic, count, first, last]),
      [
        ['cam/image', 5, 0, 40_000_000],
        ['imu/gyro', 50, -500_000, 48_500_000],
        ['calibration', 0, undefined, undefined],
      ],
    )
    assert.deepEqual(
      findings.map(({ code, count }) => [code, count]),
      [['timestamp_invalid', 1]],
    )
  })

  test('a measurement of eCAL is told message by message, with those that were never received', async () => {
    const table = (from: number) =>
      [0, 1, 2].flatMap((row) => [
        1_700_000_000_000_000n + BigInt(from + row * 1000),
        BigInt(from + row),
        BigInt(row === 2 ? 9 : row),
        1_699_999_999_999_990n,
        0n,
      ])
    const bytes = await hdf5File({
      attributes: { Version: '5.0', Channels: 'odometry,lidar' },
      odometry: {
        values: BigInt64Array.from(table(0)),
        shape: [3, 5],
        attributes: { 'Channel Type': 'proto:nav.Odometry', 'Channel Description': 'described' },
      },
      lidar: {
        values: BigInt64Array.from(table(10)),
        shape: [3, 5],
        attributes: { 'Channel Type': 'base:std::string' },
      },
      ...Object.fromEntries(
        [0, 1, 2, 10, 11].map((number) => [number, { values: new Uint8Array(20 + number) }]),
      ),
    })
    const { channels, originNs, timebase, findings } = await scan(bytes)
    assert.deepEqual([originNs, timebase.kind], [1_700_000_000_000_000_000n, 'unix'])
    assert.deepEqual(
      channels.map(({ topic, schema, encoding, schemaEncoding, count, bytes, last, contents }) => ({
        ...{ topic, schema, encoding, schemaEncoding, count, bytes, last, contents },
      })),
      [
        {
          topic: 'odometry',
          schema: 'nav.Odometry',
          encoding: 'protobuf',
          schemaEncoding: 'protobuf',
          count: 3,
          bytes: 63,
          last: 2_000_000,
          contents: 3,
        },
        {
          topic: 'lidar',
          schema: 'std::string',
          encoding: 'base',
          schemaEncoding: '',
          count: 2,
          bytes: 61,
          last: 1_010_000,
          contents: 2,
        },
      ],
    )
    assert.deepEqual(
      findings.map(({ code, count, value }) => [code, count, value]),
      [
        ['messages_dropped', 1, 7],
        ['messages_dropped', 1, 7],
        ['chunk_corrupt', 1, undefined],
      ],
    )
  })

  test('a file without datasets, and one without bytes, are empty', async () => {
    assert.deepEqual(codes(await scan(await hdf5File({ group: {} }))), ['recording_empty'])
    assert.deepEqual(codes(await scan(new Uint8Array())), ['recording_empty'])
  })

  test('it is known by its signature, behind a block of the user too', async () => {
    const bytes = await hdf5File({})
    const behind = new Uint8Array(512 + bytes.length)
    behind.set(bytes, 512)
    assert.deepEqual(
      [bytes, behind, new Uint8Array(100)].map((one) => hdf5.recognises(one)),
      [true, true, false],
    )
  })
})

suite('hdf5: damage', () => {
  test('a cut file says how much is missing', async () => {
    const bytes = await hdf5File(robomimic)
    for (const length of [bytes.length - 1, 5000, 100]) {
      const result = await scan(bytes.slice(0, length))
      assert.deepEqual(codes(result), ['recording_truncated'])
      assert.equal(result.findings[0]?.value, bytes.length - length)
    }
    assert.deepEqual(codes(await scan(bytes.slice(0, 20))), ['recording_truncated'])
    assert.deepEqual(codes(await scan(bytes.slice(0, 6))), ['chunk_corrupt'])
    assert.deepEqual(codes(await scan(new Uint8Array(10_000))), ['chunk_corrupt'])
  })

  test('links that lead back to where they stand come to an end', async () => {
    const bytes = await hdf5File({ a: { b: { values: rows(3, 1).values } } }, (file, module) => {
      module.create_hard_link(file.file_id, '/a', '/a/again')
      module.create_soft_link(file.file_id, '/a', '/a/soft')
      module.create_soft_link(file.file_id, '/nowhere', '/a/dangling')
    })
    const result = await scan(bytes)
    assert.deepEqual(codes(result), ['timestamp_invalid'])
  })

  test('other files of this machine are not opened', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'tapedeck-outside-'))
    try {
      const outside = join(folder, 'outside.hdf5')
      await writeFile(outside, await hdf5File(robomimic))
      const bytes = await hdf5File({}, (file, module) => {
        module.create_external_link(file.file_id, outside, '/data', '/data')
        module.create_external_link(file.file_id, '/etc/hostname', '/', '/other')
      })
      const result = await scan(bytes)
      assert.deepEqual([result.channels, codes(result)], [[], ['recording_empty']])
    } finally {
      await rm(folder, { recursive: true })
    }
  })

  test('read in full, damage inside of compressed rows is found', async () => {
    const noise = seeded(3)
    const values = Uint8Array.from({ length: 30_000 }, () => noise() * 256)
    const image: TestDataset = {
      values,
      shape: [100, 300],
      chunks: [10, 300],
      gzip: true,
    }
    const bytes = await hdf5File({ data: { demo_0: { ...demo(100), obs: { image } } } })
    const last = Buffer.from(bytes).indexOf(values.subarray(-40))
    const damaged = bytes.slice().fill(0x55, last - 500, last - 400)
    assert.deepEqual(codes(await scan(bytes, true)), [])
    assert.deepEqual(codes(await scan(damaged)), [])
    const result = await scan(damaged, true)
    assert.deepEqual(codes(result), ['chunk_corrupt'])
    assert.equal(result.channels[0]?.count, 100)
  })

  test('times that cannot be read are not made up', async () => {
    const noise = seeded(5)
    const stamps = Float64Array.from({ length: 3000 }, (_, row) => 1_700_000_000 + row / 100 + noise() / 1000)
    const bytes = await hdf5File({
      timestamps: { values: stamps, chunks: [3000], gzip: true },
      imu: { values: new Float64Array(3000) },
    })
    const whole = await scan(bytes)
    assert.deepEqual([whole.channels[0]?.count, codes(whole)], [3000, []])
    const at = Buffer.from(bytes).indexOf(Buffer.from([0x78, 0x5e]))
    const result = await scan(bytes.slice().fill(0x55, at + 2000, at + 2100))
    assert.equal(messages(result), 0)
    assert.ok(codes(result).includes('chunk_corrupt'))
  })

  test('what is no fault of the file is passed on', async () => {
    await passesOnFaults(hdf5, await hdf5File(robomimic))
  })

  test('no damage makes it throw or hang', async () => {
    await withstands(hdf5, await hdf5File({ data: { demo_0: demo(20), demo_1: demo(10) } }))
  })
})

suite('hdf5: real files', () => {
  const real = realFiles('hdf5', '.hdf5', '.h5')
  test('real files are told whole, and withstand damage', {
    skip: real.length === 0 && 'no recordings here',
  }, async () => {
    for (const { name, bytes } of real) {
      const whole = bytes()
      const result = await scan(whole, true)
      if (name === 'array.h5') assert.deepEqual(codes(result), ['timestamp_invalid'])
      else assert.ok(result.findings.length === 0 && messages(result) >= 25, name)
      await withstandsCutsAndFlips(hdf5, whole)
    }
  })
})
