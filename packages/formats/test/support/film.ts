// Films by the byte: as much of MP4, Matroska and WAV as the tests have something to say about.

export type FilmSample = {
  /** In ticks. */
  duration: number
  /** How much later than decoded it is shown. */
  shift?: number
  data: Uint8Array
}

export type FilmTrack = {
  handler: 'vide' | 'soun' | 'meta'
  fourcc: string
  timescale: number
  samples: FilmSample[]
  /** How many samples lie together; 1 if not said. */
  samplesPerChunk?: number
  /** What mdhd states; the sum of the samples if not said. */
  statedTicks?: number
  /** Rows of elst: how long (ticks of the movie, 1000 a second), and which media time. */
  edits?: [number, number][]
  /** One size and one duration for all, as uncompressed sound has it. */
  uniform?: boolean
  /** Boxes of these names are made by the test. */
  tables?: Record<string, Uint8Array>
}

export type Film = {
  tracks: FilmTrack[]
  /** Seconds since 1904. */
  created?: number
  moovFirst?: boolean
}

export const MOVIE_TIMESCALE = 1000

export function film({ tracks, created = 0, moovFirst = false }: Film): Uint8Array {
  const ftyp = box('ftyp', text('isom'), u32(512), text('isomavc1'))
  // Where mdat begins depends on the length of moov, but not the other way round.
  const draft = moov(tracks, created, 0)
  const at = ftyp.length + (moovFirst ? draft.length : 0) + 8
  const index = moov(tracks, created, at)
  const mdat = box('mdat', ...interleaved(tracks).map(({ sample }) => sample.data))
  return moovFirst ? join(ftyp, index, mdat) : join(ftyp, mdat, index)
}

/** A film of pictures alone: `frames` of `bytes` each, at 30 a second. */
export function pictures(frames: number, { bytes = 10, shifts = [] as number[] } = {}): FilmTrack {
  const samples = Array.from({ length: frames }, (_, index) => ({
    duration: 1000,
    data: unit(bytes, index),
    ...(shifts.length > 0 && { shift: shifts[index % shifts.length] ?? 0 }),
  }))
  return { handler: 'vide', fourcc: 'avc1', timescale: 30_000, samples }
}

/** One H.264 unit behind its length. */
export function unit(bytes: number, seed: number): Uint8Array {
  return join(u32(bytes - 4), new Uint8Array(bytes - 4).fill((seed % 250) + 1))
}

/** The chunks of all tracks, taking turns. */
function interleaved(tracks: FilmTrack[]): { track: FilmTrack; chunk: number; sample: FilmSample }[] {
  const chunks = tracks.flatMap((track) =>
    track.samples.map((sample, index) => ({
      track,
      chunk: Math.floor(index / (track.samplesPerChunk ?? 1)),
      sample,
    })),
  )
  return chunks.sort((a, b) => a.chunk - b.chunk || tracks.indexOf(a.track) - tracks.indexOf(b.track))
}

function moov(tracks: FilmTrack[], created: number, dataAt: number): Uint8Array {
  const seconds = Math.max(0, ...tracks.map((track) => ticks(track.samples) / track.timescale))
  const duration = Math.round(seconds * MOVIE_TIMESCALE)
  const head = join(u32(0), u32(created), u32(created), u32(MOVIE_TIMESCALE), u32(duration))
  const mvhd = box('mvhd', head, new Uint8Array(80))
  return box('moov', mvhd, ...tracks.map((track, index) => trak(tracks, track, index + 1, dataAt)))
}

export function ticks(samples: FilmSample[]): number {
  return samples.reduce((sum, { duration }) => sum + duration, 0)
}

function trak(tracks: FilmTrack[], track: FilmTrack, id: number, dataAt: number): Uint8Array {
  const { samples, edits = [] } = track
  const offsets = chunkOffsets(tracks, track, dataAt)
  const uniform = track.uniform && samples[0]
  const made: Record<string, Uint8Array> = {
    stsd: stsd(track),
    stts: table('stts', runs(samples.map(({ duration }) => duration))),
    ...(samples.some(({ shift }) => shift) && {
      ctts: table('ctts', runs(samples.map(({ shift }) => shift ?? 0))),
    }),
    stsc: table('stsc', samples.length > 0 ? [[1, track.samplesPerChunk ?? 1, 1]] : []),
    stsz: box(
      'stsz',
      u32(0),
      u32(uniform ? uniform.data.length : 0),
      u32(samples.length),
      ...(uniform ? [] : samples.map(({ data }) => u32(data.length))),
    ),
    stco: table(
      'stco',
      offsets.map((offset) => [offset]),
    ),
    ...track.tables,
  }
  return trakOf(track, id, track.statedTicks ?? ticks(samples), edits, Object.values(made))
}

function trakOf(
  track: FilmTrack,
  id: number,
  statedTicks: number,
  edits: [number, number][],
  tables: Uint8Array[],
): Uint8Array {
  const tkhd = box('tkhd', u32(7), u32(0), u32(0), u32(id), new Uint8Array(68))
  const elst = table(
    'elst',
    edits.map(([duration, media]) => [duration, media, 0x10000]),
  )
  const mdhd = box('mdhd', u32(0), u32(0), u32(0), u32(track.timescale), u32(statedTicks), u32(0))
  const hdlr = box('hdlr', u32(0), u32(0), text(track.handler), new Uint8Array(13))
  const minf = box('minf', box('stbl', ...tables))
  return box('trak', tkhd, ...(edits.length > 0 ? [box('edts', elst)] : []), box('mdia', mdhd, hdlr, minf))
}

function stsd({ handler, fourcc }: FilmTrack): Uint8Array {
  const picture = join(new Uint8Array(78), box('avcC', new Uint8Array([1, 100, 0, 31, 0xff, 0xe0, 0])))
  // Two channels of 16 bits.
  const sound = join(new Uint8Array(16), u16(2), u16(16), new Uint8Array(8))
  return box('stsd', u32(0), u32(1), box(fourcc, handler === 'soun' ? sound : picture))
}

function chunkOffsets(tracks: FilmTrack[], track: FilmTrack, dataAt: number): number[] {
  const offsets: number[] = []
  let at = dataAt
  for (const one of interleaved(tracks)) {
    if (one.track === track && offsets.length === one.chunk) offsets.push(at)
    at += one.sample.data.length
  }
  return offsets
}

function runs(values: number[]): [number, number][] {
  const found: [number, number][] = []
  for (const value of values) {
    const last = found.at(-1)
    if (last?.[1] === value) last[0]++
    else found.push([1, value])
  }
  return found
}

export function table(type: string, rows: number[][], declared = rows.length): Uint8Array {
  return box(type, u32(0), u32(declared), ...rows.flat().map(u32))
}

export type FilmFragment = {
  trackId: number
  /** Undefined leaves `tfdt` out. */
  decoded?: number
  samples: FilmSample[]
  /** What trun states, if not the truth. */
  declared?: number
  /** All samples alike, and no row for any. */
  rowless?: boolean
}

/** A film whose moov is empty, and a fragment for each of `fragments`. */
export function fragmentedFilm(
  tracks: FilmTrack[],
  fragments: FilmFragment[],
  { mehd = 0 } = {},
): Uint8Array {
  const bare = tracks.map((track) => ({ ...track, samples: [] }))
  const mvhd = box('mvhd', u32(0), u32(0), u32(0), u32(MOVIE_TIMESCALE), u32(0), new Uint8Array(80))
  const trex = tracks.map((_, index) => box('trex', u32(0), u32(index + 1), u32(1), u32(0), u32(0), u32(0)))
  const mvex = box('mvex', ...(mehd > 0 ? [box('mehd', u32(0), u32(mehd))] : []), ...trex)
  const traks = bare.map((track, index) => trak(bare, { ...track, statedTicks: 0 }, index + 1, 0))
  const head = join(box('ftyp', text('iso5'), u32(512)), box('moov', mvhd, ...traks, mvex))
  return join(head, ...fragments.map(fragmentOf))
}

export function fragmentOf(
  { trackId, decoded, samples, declared, rowless }: FilmFragment,
  sequence = 1,
): Uint8Array {
  const first = samples[0]
  const alike = rowless && first
  const tfhd = alike
    ? box('tfhd', u32(0x20018), u32(trackId), u32(first.duration), u32(first.data.length))
    : box('tfhd', u32(0x20000), u32(trackId))
  const tfdt = decoded === undefined ? [] : [box('tfdt', u32(0x1000000), u64(decoded))]
  const rows = alike
    ? []
    : samples.flatMap(({ duration, data, shift = 0 }) => [duration, data.length, shift].map(u32))
  const trun = (dataAt: number) =>
    box('trun', u32(alike ? 0x1 : 0x1000b01), u32(declared ?? samples.length), u32(dataAt), ...rows)
  const moof = (dataAt: number) =>
    box('moof', box('mfhd', u32(0), u32(sequence)), box('traf', tfhd, ...tfdt, trun(dataAt)))
  return join(moof(moof(0).length + 8), box('mdat', ...samples.map(({ data }) => data)))
}

export function box(type: string, ...parts: Uint8Array[]): Uint8Array {
  const content = join(...parts)
  return join(u32(content.length + 8), text(type), content)
}

export type Cluster = {
  /** Undefined leaves the time out. */
  time?: number
  blocks: { track: number; offset: number; data: Uint8Array; grouped?: boolean }[]
  /** With the checksum of its content in front. */
  checksum?: (content: Uint8Array) => number
}

export type MatroskaFilm = {
  tracks: { number: number; type: number; codec: string; defaultDurationNs?: number }[]
  clusters: Cluster[]
  /** In ticks of a millisecond; undefined where the recorder did not come to write it. */
  duration?: number
  /** Nanoseconds since 2001. */
  date?: bigint
  cues?: boolean
  /** Lengths of segment and clusters that were never filled in. */
  streamed?: boolean
}

export function matroska({
  tracks,
  clusters,
  duration,
  date,
  cues = true,
  streamed = false,
}: MatroskaFilm): Uint8Array {
  const info = element(
    '1549a966',
    element('2ad7b1', u32(1_000_000)),
    ...(duration === undefined ? [] : [element('4489', f64(duration))]),
    ...(date === undefined ? [] : [element('4461', i64(date))]),
  )
  const entries = tracks.map(({ number, type, codec, defaultDurationNs }) =>
    element(
      'ae',
      element('d7', u8(number)),
      element('83', u8(type)),
      element('86', text(codec)),
      ...(defaultDurationNs === undefined ? [] : [element('23e383', u32(defaultDurationNs))]),
    ),
  )
  const body = join(
    info,
    element('1654ae6b', ...entries),
    ...clusters.map((one) => clusterOf(one, streamed)),
    ...(cues ? [element('1c53bb6b', element('ec', new Uint8Array(4)))] : []),
  )
  const segment = streamed ? join(hex('18538067'), hex('01ffffffffffffff'), body) : element('18538067', body)
  return join(element('1a45dfa3', element('4282', text('matroska'))), segment)
}

export function clusterOf({ time, blocks, checksum }: Cluster, streamed = false): Uint8Array {
  const content = join(
    ...(time === undefined ? [] : [element('e7', u32(time))]),
    ...blocks.map(({ track, offset, data, grouped }) => {
      const block = join(u8(0x80 | track), u16(offset & 0xffff), u8(0x80), data)
      return grouped ? element('a0', element('a1', block), element('9b', u8(33))) : element('a3', block)
    }),
  )
  const summed = checksum ? join(element('bf', u32le(checksum(content))), content) : content
  return streamed ? join(hex('1f43b675'), hex('01ffffffffffffff'), summed) : element('1f43b675', summed)
}

export function element(id: string, ...parts: Uint8Array[]): Uint8Array {
  const content = join(...parts)
  return join(hex(id), u32((0x10000000 | content.length) >>> 0), content)
}

export type WavSound = {
  rate: number
  channels: number
  bits: number
  data: Uint8Array
  /** Stated length of data, if not the truth. */
  stated?: number
  before?: Uint8Array[]
  tag?: number
  rf64?: boolean
}

export function wav({
  rate,
  channels,
  bits,
  data,
  stated,
  before = [],
  tag = 1,
  rf64 = false,
}: WavSound): Uint8Array {
  const align = (channels * bits) / 8
  const format = join(
    u16le(tag),
    u16le(channels),
    u32le(rate),
    u32le(rate * align),
    u16le(align),
    u16le(bits),
  )
  const ds64 = rf64 ? [chunk('ds64', u64le(0), u64le(data.length), u64le(0), u32le(0))] : []
  const sound = join(text('data'), u32le(rf64 ? 0xffffffff : (stated ?? data.length)), data)
  const body = join(text('WAVE'), ...ds64, ...before, chunk('fmt ', format), sound)
  return join(text(rf64 ? 'RF64' : 'RIFF'), u32le(body.length), body)
}

export function chunk(id: string, ...parts: Uint8Array[]): Uint8Array {
  const content = join(...parts)
  return join(text(id), u32le(content.length), content, new Uint8Array(content.length % 2))
}

export function join(...parts: Uint8Array[]): Uint8Array {
  return new Uint8Array(Buffer.concat(parts))
}

export function text(value: string): Uint8Array {
  return new Uint8Array(Buffer.from(value, 'latin1'))
}

export const u8 = (value: number) => new Uint8Array([value])
export const u16 = (value: number) => bytes(2, (view) => view.setUint16(0, value))
export const u32 = (value: number) => bytes(4, (view) => view.setUint32(0, value))
export const u64 = (value: number) => bytes(8, (view) => view.setBigUint64(0, BigInt(value)))
const i64 = (value: bigint) => bytes(8, (view) => view.setBigInt64(0, value))
const f64 = (value: number) => bytes(8, (view) => view.setFloat64(0, value))
const u16le = (value: number) => bytes(2, (view) => view.setUint16(0, value, true))
const u32le = (value: number) => bytes(4, (view) => view.setUint32(0, value, true))
const u64le = (value: number) => bytes(8, (view) => view.setBigUint64(0, BigInt(value), true))

function bytes(length: number, write: (view: DataView) => void): Uint8Array {
  const array = new Uint8Array(length)
  write(new DataView(array.buffer))
  return array
}

function hex(value: string): Uint8Array {
  return new Uint8Array(Buffer.from(value, 'hex'))
}
