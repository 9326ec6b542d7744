// One name for each codec, whatever the container calls it. The names are those of WebCodecs and FFmpeg where these
// agree. What is not listed keeps the name that the container gives it.

const byFourcc = new Map([
  ...names('h264', 'avc1', 'avc2', 'avc3', 'avc4'),
  ...names('h265', 'hvc1', 'hev1', 'hvc2', 'dvh1', 'dvhe'),
  ...names('vp8', 'vp08'),
  ...names('vp9', 'vp09'),
  ...names('av1', 'av01'),
  ...names('mpeg4', 'mp4v'),
  ...names('mjpeg', 'jpeg', 'mjpa', 'mjpb'),
  ...names('prores', 'apch', 'apcn', 'apcs', 'apco', 'ap4h', 'ap4x'),
  ...names('aac', 'mp4a'),
  ...names('opus', 'Opus'),
  ...names('flac', 'fLaC'),
  ...names('mp3', '.mp3'),
  ...names('ac3', 'ac-3'),
  ...names('eac3', 'ec-3'),
  ...names('pcm', 'sowt', 'twos', 'in24', 'in32', 'fl32', 'fl64', 'lpcm', 'ipcm', 'fpcm', 'raw ', 'NONE'),
])

const byMatroskaId = new Map([
  ...names('h264', 'V_MPEG4/ISO/AVC'),
  ...names('h265', 'V_MPEGH/ISO/HEVC'),
  ...names('vp8', 'V_VP8'),
  ...names('vp9', 'V_VP9'),
  ...names('av1', 'V_AV1'),
  ...names('mpeg4', 'V_MPEG4/ISO/ASP', 'V_MPEG4/ISO/SP'),
  ...names('mjpeg', 'V_MJPEG'),
  ...names('ffv1', 'V_FFV1'),
  ...names('opus', 'A_OPUS'),
  ...names('vorbis', 'A_VORBIS'),
  ...names('flac', 'A_FLAC'),
  ...names('mp3', 'A_MPEG/L3'),
  ...names('ac3', 'A_AC3'),
  ...names('eac3', 'A_EAC3'),
  ...names('pcm', 'A_PCM/INT/LIT', 'A_PCM/INT/BIG', 'A_PCM/FLOAT/IEEE'),
])

function names(name: string, ...known: string[]): [string, string][] {
  return known.map((one) => [one, name])
}

/** By the type of a sample entry in MP4 or MOV; `description` is the `stsd` box that holds it. */
export function codecName(fourcc: string, description: Uint8Array): string | undefined {
  if (fourcc === 'mp4a' && isMp3(Buffer.from(description))) return 'mp3'
  return byFourcc.get(fourcc)
}

export function matroskaCodecName(id: string): string {
  return byMatroskaId.get(id) ?? (id.startsWith('A_AAC') ? 'aac' : id)
}

/** `mp4a` is AAC unless the decoder descriptor, within the stream descriptor in `esds`, names another object type. */
function isMp3(description: Buffer): boolean {
  const esds = description.indexOf('esds')
  if (esds < 0 || description[esds + 8] !== 3) return false
  const config = behindLength(description, esds + 9) + 3
  if (description[config] !== 4) return false
  const type = description[behindLength(description, config + 1)]
  return type === 0x69 || type === 0x6b
}

/** A length is one to four bytes, of which all but the last have their high bit set. */
function behindLength(bytes: Buffer, from: number): number {
  let at = from
  while (at < from + 3 && (bytes[at] ?? 0) >= 0x80) at++
  return at + 1
}
