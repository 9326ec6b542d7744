import { HEAD_BYTES, type Reader, type Source } from './recording.ts'
import { scanMatroska } from './video/matroska.ts'
import { scanMp4 } from './video/mp4.ts'
import { scanWav } from './video/wav.ts'

// Pictures and sound. Only what a container says about its packets is read (when, how long, where they lie); the
// packets themselves are not decoded.

type Container = 'mp4' | 'matroska' | 'wav'

export const video: Reader = {
  format: 'video',
  recognises: (head) => containerOf(head) !== undefined,
  async scan(source, visitor, options) {
    switch (guess(await headOf(source))) {
      case 'mp4':
        return scanMp4(source, visitor, options)
      case 'matroska':
        return scanMatroska(source, visitor, options)
      case 'wav':
        return scanWav(source, visitor, options)
    }
  },
}

function headOf(source: Source): Promise<Uint8Array> {
  return source.read(0, Math.min(source.size(), HEAD_BYTES))
}

const FIRST_BOXES = new Set(['ftyp', 'styp', 'moov', 'moof', 'mdat', 'free', 'skip', 'wide', 'pnot', 'sidx'])

function containerOf(head: Uint8Array): Container | undefined {
  // No text begins with a control character; without this, a table of "pos,free" would be a film.
  if (FIRST_BOXES.has(ascii(head, 4, 4)) && (head[0] ?? 255) < 0x20) return 'mp4'
  if (ascii(head, 0, 4) === '\x1aE\xdf\xa3') return 'matroska'
  if (['RIFF', 'RF64', 'BW64'].includes(ascii(head, 0, 4)) && ascii(head, 8, 4) === 'WAVE') return 'wav'
  return undefined
}

/** For a file that is a video by its name alone: its first bytes may be the damage. */
function guess(head: Uint8Array): Container {
  const known = containerOf(head)
  if (known) return known
  if (ascii(head, 8, 8) === 'WAVEfmt ') return 'wav'
  return /matroska|webm/.test(ascii(head, 0, 64)) ? 'matroska' : 'mp4'
}

function ascii(bytes: Uint8Array, from: number, length: number): string {
  return String.fromCharCode(...bytes.subarray(from, from + length))
}
