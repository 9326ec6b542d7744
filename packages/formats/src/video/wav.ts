import { openWindow, type Window } from '../bytes.ts'
import type { ScanOptions, Source, Timebase, Visitor } from '../recording.ts'

// WAV: chunks behind each other, of which `fmt ` describes the sound and `data` is it. Nothing in it has a time; it
// is told as blocks of 100 ms, whose times follow from the rate.

const RELATIVE: Timebase = { kind: 'relative', originUnixNs: undefined }
const BLOCKS_PER_SECOND = 10
/** Eleven days of blocks; sound of a rate so low that it has more is told in longer ones. */
const MAX_BLOCKS = 10_000_000
const WINDOW_BYTES = 4096
const MAX_CHUNKS = 100_000

type Sound = {
  codec: string
  rateHz: number
  frameBytes: number
  /** What the description contradicts itself in. */
  wrong: string | undefined
}
type Data = {
  start: number
  bytes: number
  declared: number
  /** Bytes behind the sound that are no chunk. */
  strayBytes: number
}

export async function scanWav(source: Source, visitor: Visitor, options: ScanOptions): Promise<Timebase> {
  const { sound, data, cutAt } = await readChunks(openWindow(source, WINDOW_BYTES), options.signal)
  const size = source.size()
  if (!data) {
    const where = cutAt === undefined ? '' : `; the chunk at byte ${cutAt} goes on behind the end`
    const detail = `no sound (data) is in these ${size} bytes${where}`
    visitor.finding({
      code: cutAt === undefined ? 'recording_empty' : 'recording_truncated',
      detail,
      value: size,
    })
    return RELATIVE
  }
  if (!sound || !(sound.rateHz > 0) || sound.frameBytes === 0) {
    const stated = sound
      ? `states ${sound.rateHz} Hz and ${sound.frameBytes} bytes for each value`
      : 'is missing'
    const detail = `the description (fmt) ${stated}, so that the ${data.bytes} bytes of sound have no times`
    visitor.finding({ code: 'timestamp_invalid', detail, value: data.bytes })
    return RELATIVE
  }
  tellSound(visitor, sound, data, options.signal)
  reportLength(visitor, sound, data, size)
  visitor.progress(1)
  return RELATIVE
}

async function readChunks(window: Window, signal: AbortSignal) {
  let sound: Sound | undefined
  let data: Data | undefined
  let longBytes: number | undefined
  let cutAt: number | undefined
  let at = 12
  for (let chunks = 0; at + 8 <= window.size && chunks < MAX_CHUNKS && !(sound && data); chunks++) {
    signal.throwIfAborted()
    const head = await window.at(at, 40)
    const view = new DataView(head.buffer, head.byteOffset, head.byteLength)
    const id = String.fromCharCode(...head.subarray(0, 4))
    const declared = view.getUint32(4, true)
    if (id === 'ds64' && head.length >= 24) longBytes = Number(view.getBigUint64(16, true))
    if (id === 'fmt ' && head.length >= 24) sound = readFormat(view)
    if (id === 'data') {
      const meant = declared === 0xffffffff && longBytes !== undefined ? longBytes : declared
      const rest = window.size - at - 8
      const bytes = isUnwritten(meant) ? rest : Math.min(meant, rest)
      data = { start: at + 8, bytes, declared: meant, strayBytes: await strayBytes(window, at + 8 + bytes) }
    }
    cutAt = at + 8 + declared > window.size ? at : undefined
    // Chunks begin at even offsets.
    at += 8 + declared + (declared % 2)
  }
  return { sound, data, cutAt }
}

/** Behind the sound other chunks may stand, and nothing else. */
async function strayBytes(window: Window, end: number): Promise<number> {
  const next = end + (end % 2)
  if (next >= window.size) return 0
  const id = String.fromCharCode(...(await window.at(next, 4)))
  return /^[ -~]{4}$/.test(id) ? 0 : window.size - end
}

/** The length is filled in at the end of a recording: until then it is 0, or all ones where it was streamed. */
function isUnwritten(declared: number): boolean {
  return declared === 0 || declared === 0xffffffff
}

const PCM_TAGS = new Set([1, 3])
const EXTENSIBLE = 0xfffe

function readFormat(view: DataView): Sound {
  const tag = view.getUint16(8, true)
  const inner = tag === EXTENSIBLE && view.byteLength >= 34 ? view.getUint16(32, true) : tag
  const rateHz = view.getUint32(12, true)
  const bytesPerSecond = view.getUint32(16, true)
  const frameBytes = view.getUint16(20, true)
  if (PCM_TAGS.has(inner)) {
    const wrong =
      rateHz * frameBytes === bytesPerSecond
        ? undefined
        : `${rateHz} values a second of ${frameBytes} bytes are not the ${bytesPerSecond} bytes a second that it states`
    return { codec: 'pcm', rateHz, frameBytes, wrong }
  }
  // Of compressed sound only the mean is known: as if it had one byte for each value.
  return { codec: codecOf(inner), rateHz: bytesPerSecond, frameBytes: 1, wrong: undefined }
}

function codecOf(tag: number): string {
  const known: Record<number, string> = {
    2: 'adpcm',
    6: 'alaw',
    7: 'ulaw',
    17: 'adpcm',
    85: 'mp3',
    255: 'aac',
  }
  return known[tag] ?? `wav-${tag.toString(16)}`
}

function tellSound(
  visitor: Visitor,
  { codec, rateHz, frameBytes }: Sound,
  { bytes }: Data,
  signal: AbortSignal,
) {
  const frames = Math.floor(bytes / frameBytes)
  const blockFrames = Math.max(1, Math.round(rateHz / BLOCKS_PER_SECOND), Math.ceil(frames / MAX_BLOCKS))
  const channel = visitor.channel({
    topic: 'audio/1',
    schema: codec,
    schemaEncoding: '',
    schemaData: new Uint8Array(),
    encoding: codec,
    declaredRateHz: rateHz / blockFrames,
    timesComputed: true,
  })
  visitor.origin(0n)
  for (let frame = 0; frame < frames; frame += blockFrames) {
    signal.throwIfAborted()
    const seconds = Math.floor(frame / rateHz)
    const t = seconds * 1e9 + Math.round(((frame - seconds * rateHz) * 1e9) / rateHz)
    visitor.message(channel, t, Math.min(blockFrames, frames - frame) * frameBytes)
  }
}

function reportLength(visitor: Visitor, { rateHz, frameBytes, wrong }: Sound, data: Data, size: number) {
  const { start, bytes, declared, strayBytes } = data
  if (wrong) {
    const detail = `the description (fmt) contradicts itself: ${wrong}; times may be wrong`
    visitor.finding({ code: 'timestamp_invalid', detail })
  }
  if (strayBytes > 0) {
    const detail = `behind the ${bytes} bytes that the sound says it has, ${strayBytes} bytes are no chunk; they are not told`
    visitor.finding({ code: 'index_mismatch', detail, value: strayBytes })
  }
  if (isUnwritten(declared) && bytes > 0) {
    const detail =
      `the length of the sound (data, byte ${start - 8}) was never written: it was streamed, or its recorder did not ` +
      `come to an end; all ${bytes} bytes up to the end of the file are told`
    visitor.finding({ code: 'index_missing', detail, value: bytes })
  } else if (bytes === 0) {
    visitor.finding({ code: 'recording_empty', detail: 'the sound (data) has no bytes' })
  } else if (declared > bytes) {
    const lost = declared - bytes
    const detail =
      `the file ends at byte ${size}, but its sound says ${declared} bytes from byte ${start} on: ${lost} bytes, ` +
      `${(lost / frameBytes / rateHz).toFixed(3)} s, are lost`
    const t = Math.round((bytes / frameBytes / rateHz) * 1e9)
    visitor.finding({ code: 'recording_truncated', detail, t, value: lost })
  }
}
