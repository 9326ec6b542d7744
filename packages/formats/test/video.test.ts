import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { crc32 } from 'node:zlib'
import { video } from '../src/video.ts'
import { bytesSource, collect } from './support/collect.ts'
import { passesOnFaults } from './support/failing.ts'
import {
  box,
  chunk,
  type FilmTrack,
  film,
  fragmentedFilm,
  type MatroskaFilm,
  matroska,
  pictures,
  table,
  text,
  u32,
  unit,
  wav,
} from './support/film.ts'
import { otherFilms } from './support/other-films.ts'
import { realFiles, withstands, withstandsCutsAndFlips } from './support/withstand.ts'

const scan = (bytes: Uint8Array, full = false) => collect(video, bytesSource(bytes), { full })
const codes = ({ findings }: { findings: { code: string }[] }) => findings.map(({ code }) => code)
/** In the order in which they are told. */
async function timesOf(bytes: Uint8Array): Promise<number[]> {
  const times: number[] = []
  await video.scan(
    bytesSource(bytes),
    {
      origin() {},
      channel: () => 0,
      message: (_, t) => void times.push(t),
      content() {},
      marker() {},
      finding() {},
      progress() {},
    },
    { signal: AbortSignal.timeout(10_000), tempDir: '', full: false },
  )
  return times
}

const sound: FilmTrack = {
  handler: 'soun',
  fourcc: 'mp4a',
  timescale: 48_000,
  samples: Array.from({ length: 94 }, () => ({ duration: 1024, data: new Uint8Array(7).fill(9) })),
  samplesPerChunk: 3,
}
const picture = { schema: 'h264', schemaEncoding: '', encoding: 'h264', schemaBytes: 0, contents: 0 }

suite('mp4', () => {
  test('a film is told frame by frame, from its index alone', async () => {
    const bytes = film({ tracks: [pictures(60, { bytes: 5000 }), sound] })
    const result = await scan(bytes)
    assert.deepEqual(result, {
      timebase: { kind: 'relative', originUnixNs: undefined },
      originNs: 0n,
      channels: [
        {
          ...picture,
          topic: 'video/1',
          declaredRateHz: 30,
          count: 60,
          bytes: 300_000,
          first: 0,
          last: 1_966_666_667,
        },
        {
          ...picture,
          topic: 'audio/1',
          schema: 'aac',
          encoding: 'aac',
          declaredRateHz: 46.875,
          count: 94,
          bytes: 658,
          first: 0,
          last: 1_984_000_000,
        },
      ],
      markers: [],
      findings: [],
      read: result.read,
    })
    assert.ok(result.read.bytes < 150_000, `${result.read.bytes} of ${bytes.length} bytes read`)
  })

  test('a film that begins with its index is the same film', async () => {
    const tracks = [pictures(60), sound]
    const { read: _, ...last } = await scan(film({ tracks }))
    const { read: __, ...first } = await scan(film({ tracks, moovFirst: true }))
    assert.deepEqual(first, last)
  })

  test('frames are told in the order in which they are shown', async () => {
    // Decoded I P B B, shown I B B P.
    const track = {
      ...pictures(8, { shifts: [1000, 3000, 0, 0] }),
      edits: [[267, 1000]] as [number, number][],
    }
    const times = await timesOf(film({ tracks: [track] }))
    assert.deepEqual(
      times,
      [0, 1, 2, 3, 4, 5, 6, 7].map((frame) => Math.round((frame * 1e9) / 30)),
    )
  })

  test('an empty edit delays the track, and a media time moves it forward', async () => {
    const edits: [number, number][] = [
      [500, -1],
      [1000, 2000],
    ]
    const { channels } = await scan(film({ tracks: [{ ...pictures(30), edits }] }))
    assert.equal(channels[0]?.first, 500_000_000 - 66_666_667)
  })

  test('a time of creation in 1904, and one that cannot be, are none', async () => {
    for (const [created, expected] of [
      [0, undefined],
      [1_700_000_000, undefined],
      [1_700_000_000 + 2_082_844_800, 1_700_000_000_000_000_000n],
    ] as const) {
      const { timebase } = await scan(film({ tracks: [pictures(3)], created }))
      assert.deepEqual(timebase, { kind: 'relative', originUnixNs: expected })
    }
  })

  test('uncompressed sound is told by chunks, not by values', async () => {
    const samples = Array.from({ length: 4800 }, () => ({ duration: 1, data: new Uint8Array(4) }))
    const track: FilmTrack = {
      handler: 'soun',
      fourcc: 'sowt',
      timescale: 48_000,
      samples,
      samplesPerChunk: 480,
      uniform: true,
    }
    const { channels } = await scan(film({ tracks: [track] }))
    const [channel] = channels
    assert.deepEqual([channel?.count, channel?.bytes, channel?.last], [10, 19_200, 90_000_000])
    assert.equal(channel?.encoding, 'pcm')
  })

  test('a track of neither pictures nor sound is a channel of data', async () => {
    const track: FilmTrack = { ...pictures(5), handler: 'meta', fourcc: 'gpmd' }
    const { channels } = await scan(film({ tracks: [pictures(5), track] }))
    assert.deepEqual(
      channels.map(({ topic, encoding, count }) => [topic, encoding, count]),
      [
        ['video/1', 'h264', 5],
        ['data/1', 'gpmd', 5],
      ],
    )
  })

  test('frames missing from a film of steady rate are a mismatch', async () => {
    const track = pictures(300)
    const gap = track.samples[100]
    assert.ok(gap)
    gap.duration = 11_000
    const { findings } = await scan(film({ tracks: [track] }))
    assert.equal(findings.length, 1)
    assert.deepEqual(
      { ...findings[0], detail: '' },
      {
        code: 'video_frame_mismatch',
        detail: '',
        channel: 0,
        count: 10,
        value: 300,
        threshold: 310,
      },
    )
  })

  test('one frame more or less, and one in a hundred, are no mismatch', async () => {
    assert.deepEqual(codes(await scan(film({ tracks: [{ ...pictures(30), statedTicks: 31_000 }] }))), [])
    assert.deepEqual(codes(await scan(film({ tracks: [{ ...pictures(1000), statedTicks: 1_010_000 }] }))), [])
    assert.deepEqual(codes(await scan(film({ tracks: [{ ...pictures(30), statedTicks: 32_000 }] }))), [
      'video_frame_mismatch',
    ])
  })

  test('a rate in milliseconds is the mean of what rounding made of it, and a film without one has none', async () => {
    const durations = (one: (frame: number) => number): FilmTrack => ({
      ...pictures(0),
      timescale: 1000,
      samples: Array.from({ length: 300 }, (_, frame) => ({ duration: one(frame), data: unit(8, frame) })),
    })
    const rounded = await scan(film({ tracks: [durations((frame) => (frame % 3 === 2 ? 34 : 33))] }))
    assert.equal(rounded.channels[0]?.declaredRateHz, 30)
    const varying = await scan(film({ tracks: [durations((frame) => 10 + ((frame * 37) % 500))] }))
    assert.equal(varying.channels[0]?.declaredRateHz, undefined)
    assert.deepEqual(codes(varying), [])
  })

  test('a film that is cut before its index is truncated, and says that the index is missing', async () => {
    const bytes = film({ tracks: [pictures(60)] })
    const result = await scan(bytes.slice(0, 400))
    assert.deepEqual(codes(result), ['recording_truncated'])
    assert.match(
      result.findings[0]?.detail ?? '',
      /ends at byte 400, .*mdat at byte 24 .*to byte 632; .*moov\) is missing/,
    )
    assert.deepEqual(result.channels, [])
  })

  test('frames behind the end of the file are lost, those before it are told', async () => {
    const bytes = film({ tracks: [pictures(60), sound], moovFirst: true })
    const whole = await scan(bytes)
    for (let length = bytes.length - 1; length > bytes.length - 1200; length -= 37) {
      const result = await scan(bytes.slice(0, length))
      const told = result.channels.reduce((sum, { count }) => sum + count, 0)
      const finding = result.findings.find(({ code }) => code === 'recording_truncated')
      assert.equal(told + (finding?.count ?? 0), 154, `at ${length}`)
      assert.ok((finding?.count ?? 0) > 0)
      const firstLost = finding?.t ?? -1
      assert.ok(whole.channels.some(({ last }) => (last ?? 0) >= firstLost))
    }
  })

  test('an index that is cut still tells the frames that it describes', async () => {
    const bytes = film({ tracks: [pictures(60)] })
    const sizes = bytes.length - 8 - 8 - 60 * 4 - 60 * 4
    const result = await scan(bytes.slice(0, sizes + 4 * 20))
    assert.deepEqual(codes(result).toSorted(), ['chunk_corrupt', 'index_mismatch', 'recording_truncated'])
    assert.ok((result.channels[0]?.count ?? 0) >= 15 && (result.channels[0]?.count ?? 99) <= 20)
  })

  test('an index behind a box whose length lies is found', async () => {
    const bytes = film({ tracks: [pictures(60)] })
    for (const length of [9, 2 ** 31, 3]) {
      const damaged = bytes.slice()
      damaged.set(u32(length), 24)
      const result = await scan(damaged)
      assert.equal(result.channels[0]?.count, 60)
      assert.deepEqual(codes(result), ['chunk_corrupt'])
    }
  })

  test('tables that promise more frames than they describe are not believed', async () => {
    const lies: Record<string, Uint8Array> = {
      stts: table('stts', [[0xffffffff, 1000]]),
      stsz: box('stsz', u32(0), u32(0), u32(0xffffffff), ...Array.from({ length: 60 }, () => u32(10))),
      stsc: table('stsc', [[1, 0xffffffff, 1]]),
      stco: table('stco', [[32]], 0xffffffff),
      ctts: table('ctts', [[0xffffffff, 0x7fffffff]]),
    }
    for (const [name, lie] of Object.entries(lies)) {
      const result = await scan(film({ tracks: [{ ...pictures(60), tables: { [name]: lie } }] }))
      assert.ok((result.channels[0]?.count ?? 99) <= 60, name)
    }
    const all = await scan(film({ tracks: [{ ...pictures(60), tables: lies }] }))
    assert.ok((all.channels[0]?.count ?? 99) <= 60)
    assert.ok(codes(all).includes('index_mismatch'))
  })

  test('frames of one size without end are not counted one by one', async () => {
    const tables = {
      stts: table('stts', [[0xffffffff, 1000]]),
      stsz: box('stsz', u32(0), u32(1), u32(0xffffffff)),
      stsc: table('stsc', [[1, 0xffffffff, 1]]),
    }
    const bytes = film({ tracks: [{ ...pictures(60), tables }] })
    const result = await scan(bytes)
    const lost = result.findings.find(({ code }) => code === 'recording_truncated')?.count ?? 0
    assert.ok((result.channels[0]?.count ?? 0) < bytes.length)
    assert.equal((result.channels[0]?.count ?? 0) + lost, 0xffffffff)
  })

  test('chunks that lie on top of each other do not make frames without end', async () => {
    const tables = {
      stts: table('stts', [[0xffffffff, 1000]]),
      stsz: box('stsz', u32(0), u32(1), u32(0xffffffff)),
      stsc: table('stsc', [[1, 0xffffffff, 1]]),
      stco: table(
        'stco',
        Array.from({ length: 60 }, () => [0]),
      ),
    }
    const bytes = film({ tracks: [{ ...pictures(60), tables }] })
    const result = await scan(bytes)
    assert.ok((result.channels[0]?.count ?? 0) <= bytes.length)
    assert.ok(codes(result).includes('index_mismatch') || codes(result).includes('recording_truncated'))
  })

  test('a frame whose duration is damaged contradicts the stated one', async () => {
    const track = pictures(300)
    const tables = {
      stts: table('stts', [
        [100, 1000],
        [1, 2 ** 30],
        [199, 1000],
      ]),
    }
    const result = await scan(film({ tracks: [{ ...track, tables, statedTicks: 300_000 }] }))
    assert.deepEqual(codes(result), ['index_mismatch'])
    assert.match(result.findings[0]?.detail ?? '', /stts adds up to 35801\.361 s, mdhd says 10\.000 s/)
  })

  test('a track without a clock is a channel without times', async () => {
    const result = await scan(film({ tracks: [{ ...pictures(5), timescale: 0, statedTicks: 0 }] }))
    assert.equal(result.channels[0]?.count, 0)
    assert.deepEqual(codes(result), ['recording_empty', 'timestamp_invalid'].toSorted().toReversed())
  })

  test('more tracks than any film has are counted, not followed', async () => {
    const result = await scan(film({ tracks: Array.from({ length: 70 }, () => pictures(1)) }))
    assert.equal(result.channels.length, 64)
    assert.deepEqual(
      result.findings.map(({ code, count }) => [code, count]),
      [['messages_undecodable', 6]],
    )
  })

  test('read in full, damage inside of frames is found', async () => {
    const bytes = film({ tracks: [pictures(60, { bytes: 100 })] })
    assert.deepEqual(codes(await scan(bytes, true)), [])
    const zeroed = bytes.slice().fill(0, 1032, 1132)
    assert.deepEqual(codes(await scan(zeroed)), [])
    assert.deepEqual(
      (await scan(zeroed, true)).findings.map(({ code, count, t }) => [code, count, t]),
      [['chunk_corrupt', 1, 333_333_333]],
    )
  })

  test('a film without frames, and a file without bytes, are empty', async () => {
    assert.deepEqual(codes(await scan(film({ tracks: [pictures(0)] }))), ['recording_empty'])
    assert.deepEqual(codes(await scan(new Uint8Array())), ['recording_empty'])
  })

  test('the first box alone is truncated', async () => {
    assert.deepEqual(codes(await scan(box('ftyp', text('isom')))), ['recording_truncated'])
    assert.deepEqual(codes(await scan(new Uint8Array(10_000))), ['recording_truncated', 'chunk_corrupt'])
  })
})

suite('fragmented mp4', () => {
  const frames = (count: number, bytes = 50) => pictures(count, { bytes }).samples
  const fragments = [0, 1, 2].map((index) => ({ trackId: 1, decoded: index * 30_000, samples: frames(30) }))

  test('fragments are told one after the other', async () => {
    const { channels, findings } = await scan(fragmentedFilm([pictures(0)], fragments))
    assert.deepEqual(channels, [
      {
        ...picture,
        topic: 'video/1',
        declaredRateHz: 30,
        count: 90,
        bytes: 4500,
        first: 0,
        last: 2_966_666_667,
      },
    ])
    assert.deepEqual(findings, [])
  })

  test('fragments without a time go on from those before them', async () => {
    const timeless = fragments.map(({ decoded: _, ...rest }) => rest)
    const { channels } = await scan(fragmentedFilm([pictures(0)], timeless))
    assert.deepEqual([channels[0]?.count, channels[0]?.last], [90, 2_966_666_667])
  })

  test('times that count from a clock of their own begin at the first fragment', async () => {
    const years = 1_700_000_000
    const live = fragments.map((one) => ({ ...one, decoded: years * 30_000 + one.decoded + 15_000 }))
    const { originNs, channels, findings } = await scan(fragmentedFilm([pictures(0)], live))
    assert.equal(originNs, BigInt(years) * 1_000_000_000n)
    assert.deepEqual([channels[0]?.first, channels[0]?.last], [500_000_000, 3_466_666_667])
    assert.deepEqual(findings, [])
  })

  test('frames alike need no rows, and uncompressed sound is one message for each run', async () => {
    const alike = fragments.map((one) => ({ ...one, rowless: true }))
    const pictured = await scan(fragmentedFilm([pictures(0)], alike))
    assert.deepEqual([pictured.channels[0]?.count, pictured.channels[0]?.bytes], [90, 4500])
    const pcm: FilmTrack = { handler: 'soun', fourcc: 'ipcm', timescale: 48_000, samples: [] }
    const values = Array.from({ length: 4800 }, () => ({ duration: 1, data: new Uint8Array(4) }))
    const sounds = [0, 1].map((index) => ({
      trackId: 1,
      decoded: index * 4800,
      samples: values,
      rowless: true,
    }))
    const heard = await scan(fragmentedFilm([pcm], sounds))
    assert.deepEqual([heard.channels[0]?.count, heard.channels[0]?.last], [2, 100_000_000])
  })

  test('a cut fragment loses its last frames only', async () => {
    const bytes = fragmentedFilm([pictures(0)], fragments)
    const result = await scan(bytes.slice(0, bytes.length - 25))
    assert.equal(result.channels[0]?.count, 89)
    assert.deepEqual(
      result.findings.map(({ code, count, t }) => [code, count, t]),
      [['recording_truncated', 1, 2_966_666_667]],
    )
  })

  test('a damaged fragment is passed over', async () => {
    const bytes = fragmentedFilm([pictures(0)], fragments)
    const second = Buffer.from(bytes).indexOf('moof', Buffer.from(bytes).indexOf('moof') + 1) - 4
    const result = await scan(bytes.slice().fill(0, second, second + 40))
    assert.equal(result.channels[0]?.count, 60)
    assert.deepEqual(codes(result), ['chunk_corrupt'])
  })

  test('runs that claim frames without end are not believed', async () => {
    const lying = fragments.map((one) => ({ ...one, declared: 0xffffffff }))
    const rows = await scan(fragmentedFilm([pictures(0)], lying))
    assert.equal(rows.channels[0]?.count, 90)
    assert.deepEqual(codes(rows), ['index_mismatch'])
    const bytes = fragmentedFilm(
      [pictures(0)],
      lying.map((one) => ({ ...one, rowless: true })),
    )
    const alike = await scan(bytes)
    assert.ok((alike.channels[0]?.count ?? 0) <= bytes.length / 50)
  })

  test('the stated length of all fragments is held against their frames', async () => {
    const result = await scan(fragmentedFilm([pictures(0)], fragments, { mehd: 4000 }))
    assert.deepEqual(
      result.findings.map(({ code, value, threshold }) => [code, value, threshold]),
      [['video_frame_mismatch', 90, 120]],
    )
  })

  test('fragments without a movie are truncated', async () => {
    const bytes = fragmentedFilm([pictures(0)], fragments)
    const first = Buffer.from(bytes).indexOf('moof') - 4
    const result = await scan(bytes.slice(first))
    assert.deepEqual(codes(result), ['recording_truncated'])
    assert.match(result.findings[0]?.detail ?? '', /3 fragments/)
  })
})

suite('matroska', () => {
  const blocks = (from: number, count: number) =>
    Array.from({ length: count }, (_, index) => ({
      track: 1,
      offset: (index + from) * 40,
      data: unit(100, index),
    }))
  const clusters = [0, 1000, 2000].map((time) => ({ time, blocks: blocks(0, 25) }))
  const tracks = [{ number: 1, type: 1, codec: 'V_VP9', defaultDurationNs: 40_000_000 }]
  const whole: MatroskaFilm = { tracks, clusters, duration: 3000 }
  const frames = {
    topic: 'video/1',
    schema: 'vp9',
    schemaEncoding: '',
    encoding: 'vp9',
    schemaBytes: 0,
    contents: 0,
  }

  test('a film is told block by block', async () => {
    const result = await scan(matroska({ ...whole, date: 0n }))
    assert.deepEqual(
      { ...result, read: 0 },
      {
        timebase: { kind: 'relative', originUnixNs: 978_307_200_000_000_000n },
        originNs: 0n,
        channels: [{ ...frames, declaredRateHz: 25, count: 75, bytes: 7500, first: 0, last: 2_960_000_000 }],
        markers: [],
        findings: [],
        read: 0,
      },
    )
  })

  test('blocks in groups, sound, and times before those of their cluster are read too', async () => {
    const sounds = [...tracks, { number: 2, type: 2, codec: 'A_OPUS' }]
    const grouped = clusters.map(({ time, blocks }) => ({
      time: time + 40,
      blocks: blocks.map((block) => ({
        ...block,
        offset: block.offset - 40,
        grouped: true,
        track: 1 + (block.offset % 80) / 40,
      })),
    }))
    const { channels, findings } = await scan(matroska({ tracks: sounds, clusters: grouped, duration: 3000 }))
    assert.deepEqual(
      channels.map(({ topic, encoding, count, first }) => [topic, encoding, count, first]),
      [
        ['video/1', 'vp9', 39, 0],
        ['audio/1', 'opus', 36, 40_000_000],
      ],
    )
    assert.deepEqual(findings, [])
  })

  test('a recorder that never filled in its lengths is read to the end, and has no index', async () => {
    const { duration: _, ...streamed } = { ...whole, streamed: true, cues: false }
    const result = await scan(matroska(streamed))
    assert.equal(result.channels[0]?.count, 75)
    assert.deepEqual(codes(result), ['index_missing'])
  })

  test('frames fewer than the stated rate and duration make are a mismatch', async () => {
    const result = await scan(matroska({ ...whole, duration: 4000 }))
    assert.deepEqual(
      result.findings.map(({ code, value, threshold }) => [code, value, threshold]),
      [['video_frame_mismatch', 75, 100]],
    )
  })

  test('a cut film tells all frames before the cut', async () => {
    const bytes = matroska(whole)
    for (let length = bytes.length - 1; length > bytes.length - 3000; length -= 83) {
      const result = await scan(bytes.slice(0, length))
      const seen = Math.floor((length - (bytes.length - 17 - 75 * 109 - 3 * 17)) / 110) - 1
      assert.ok(
        (result.channels[0]?.count ?? 0) >= seen,
        `${result.channels[0]?.count} of ${seen} at ${length}`,
      )
    }
  })

  test('behind a damaged block reading goes on at the next cluster', async () => {
    const bytes = matroska(whole)
    const second = Buffer.from(bytes).indexOf('1f43b675', 1200, 'hex')
    const damaged = bytes.slice()
    damaged[second + 8 + 9 + 109 + 1] = 0x1f
    const result = await scan(damaged)
    const count = result.channels[0]?.count ?? 0
    assert.ok(count >= 51 && count < 75, `${count}`)
    assert.ok(codes(result).includes('chunk_corrupt'))
  })

  test('frames in a cluster without a time, or of an unknown track, are counted and not told', async () => {
    const [first] = clusters
    assert.ok(first)
    const strange = { time: 0, blocks: [{ track: 7, offset: 0, data: unit(9, 1) }] }
    const { duration: _, ...rest } = whole
    const result = await scan(matroska({ ...rest, clusters: [first, { blocks: first.blocks }, strange] }))
    assert.equal(result.channels[0]?.count, 25)
    assert.deepEqual(
      result.findings.map(({ code, count }) => [code, count]),
      [
        ['timestamp_invalid', 25],
        ['messages_undecodable', 1],
      ],
    )
  })

  test('read in full, the checksums of clusters are verified', async () => {
    const checked = clusters.map((one) => ({ ...one, checksum: (content: Uint8Array) => crc32(content) }))
    const bytes = matroska({ ...whole, clusters: checked })
    assert.deepEqual(codes(await scan(bytes, true)), [])
    const damaged = bytes.slice()
    damaged[bytes.length - 60] = 0
    assert.deepEqual(codes(await scan(damaged, true)), ['chunk_corrupt'])
  })

  test('the head alone is empty', async () => {
    assert.deepEqual(codes(await scan(matroska({ tracks, clusters: [] }))), ['recording_empty'])
  })
})

suite('wav', () => {
  const whole = { rate: 16_000, channels: 2, bits: 16, data: new Uint8Array(16_000 * 4 + 4000) }

  test('sound is told in blocks of 100 ms whose times are computed', async () => {
    const { channels, findings, originNs } = await scan(wav(whole))
    assert.equal(originNs, 0n)
    assert.deepEqual(channels, [
      {
        topic: 'audio/1',
        schema: 'pcm',
        schemaEncoding: '',
        encoding: 'pcm',
        declaredRateHz: 10,
        timesComputed: true,
        schemaBytes: 0,
        count: 11,
        bytes: 68_000,
        first: 0,
        last: 1_000_000_000,
        contents: 0,
      },
    ])
    assert.deepEqual(findings, [])
  })

  test('chunks before the sound, odd ones too, are passed over, and sound beyond 4 GB is read', async () => {
    const before = [chunk('LIST', new Uint8Array(156_001)), chunk('id3 ', new Uint8Array(3))]
    assert.equal((await scan(wav({ ...whole, before }))).channels[0]?.count, 11)
    assert.equal((await scan(wav({ ...whole, rf64: true }))).channels[0]?.count, 11)
  })

  test('a length that was never written is the rest of the file', async () => {
    for (const stated of [0, 0xffffffff]) {
      const result = await scan(wav({ ...whole, stated }))
      assert.equal(result.channels[0]?.bytes, 68_000)
      assert.deepEqual(codes(result), ['index_missing'])
    }
  })

  test('cut sound is truncated, and says what is lost', async () => {
    const bytes = wav(whole)
    const result = await scan(bytes.slice(0, bytes.length - 6400))
    assert.deepEqual(
      result.findings.map(({ code, value, t }) => [code, value, t]),
      [['recording_truncated', 6400, 962_500_000]],
    )
    assert.match(result.findings[0]?.detail ?? '', /0\.100 s, are lost/)
  })

  test('sound without a rate has no times, and none at all is empty', async () => {
    assert.deepEqual(codes(await scan(wav({ ...whole, rate: 0 }))), ['timestamp_invalid'])
    assert.deepEqual(codes(await scan(wav({ ...whole, data: new Uint8Array() }))), ['recording_empty'])
    assert.deepEqual(codes(await scan(wav(whole).slice(0, 36))), ['recording_empty'])
  })

  test('a rate of one value a second does not make messages without end', async () => {
    const { channels } = await scan(wav({ rate: 1, channels: 1, bits: 8, data: new Uint8Array(2_000_000) }))
    assert.ok((channels[0]?.count ?? 0) <= 2_000_000)
  })

  test('compressed sound is timed by its mean', async () => {
    const result = await scan(wav({ ...whole, tag: 0x55 }))
    assert.deepEqual([result.channels[0]?.encoding, result.channels[0]?.last], ['mp3', 1_000_000_000])
  })
})

suite('video', () => {
  test('containers are known by their first bytes, and texts are none', () => {
    const known = [
      film({ tracks: [] }),
      matroska({ tracks: [], clusters: [] }),
      box('mdat'),
      wav({ rate: 1, channels: 1, bits: 8, data: new Uint8Array() }),
    ]
    assert.deepEqual(
      known.map((bytes) => video.recognises(bytes)),
      [true, true, true, true],
    )
    const texts = ['pos,free,b', 'RIFFxxxxAVI ', '', 'ftyp'].map((one) => video.recognises(text(one)))
    assert.deepEqual(texts, [false, false, false, false])
  })

  test('no damage makes it throw, hang, or lose frames in silence', async () => {
    const tracks = [pictures(60, { bytes: 40, shifts: [1000, 3000, 0, 0] }), sound]
    const streams = [{ number: 1, type: 1, codec: 'V_VP8' }]
    const blocks = pictures(30).samples.map(({ data }, index) => ({ track: 1, offset: index * 33, data }))
    const clusters = [0, 1000].map((time) => ({ time, blocks }))
    const fragment = { trackId: 1, samples: pictures(30).samples }
    const files = [
      film({ tracks }),
      film({ tracks, moovFirst: true }),
      fragmentedFilm([pictures(0)], [fragment, fragment, fragment]),
      matroska({ tracks: streams, clusters }),
      wav({ rate: 8000, channels: 1, bits: 8, data: new Uint8Array(20_000) }),
    ]
    for (const [seed, bytes] of files.entries()) await withstands(video, bytes, seed)
  })

  test('what is no fault of the file is passed on', async () => {
    await passesOnFaults(video, film({ tracks: [pictures(3)] }))
    await passesOnFaults(video, matroska({ tracks: [], clusters: [] }))
    await passesOnFaults(video, wav({ rate: 8000, channels: 1, bits: 8, data: new Uint8Array(100) }))
  })

  const real = [
    ...realFiles('video', '.mp4'),
    ...realFiles('lerobot/gr00t/robot_sim.PickNPlace/videos/chunk-000/observation.images.ego_view', '.mp4'),
  ]
  test('real films are told whole, and withstand damage', {
    skip: real.length === 0 && 'no recordings here',
  }, async () => {
    for (const file of real) {
      const bytes = file.bytes()
      const { channels, findings } = await scan(bytes)
      assert.deepEqual(findings, [], file.name)
      assert.ok((channels[0]?.count ?? 0) > 100, file.name)
      await withstandsCutsAndFlips(video, bytes)
    }
  })

  test('films that another writer made are told as that writer told it', async () => {
    for (const { bytes, expected } of await otherFilms()) {
      const { channels, findings } = await scan(bytes)
      assert.deepEqual(
        channels.map(({ topic, encoding, count, first, last }) => ({ topic, encoding, count, first, last })),
        expected,
      )
      assert.deepEqual(findings, [])
    }
  })
})
