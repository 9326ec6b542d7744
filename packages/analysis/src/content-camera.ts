import { crc32 } from 'node:zlib'
import { jpegBrightness } from '@tapedeck/formats'
import type { ContentCheck } from './content-check.ts'
import { type FoundIssue, issue } from './issue.ts'
import { thresholds } from './thresholds.ts'
import { seconds } from './timing-checks.ts'
import { field, numberAt, textAt } from './values.ts'

const { camera } = thresholds
/** Behind the stamp, which changes even when the picture does not. */
const STAMP_BYTES = 16

export type FrozenCheck = { see(t: number, payload: Uint8Array): void; finish(): FoundIssue[] }

type Run = { quick: number; whole: number | undefined; count: number; t: number; endT: number }

/** A camera that repeats itself, byte for byte. */
export function openFrozenCheck(): FrozenCheck {
  let run: Run = { quick: -1, whole: undefined, count: 0, t: 0, endT: 0 }
  let longest = run
  return {
    see(t, payload) {
      const picture = payload.subarray(STAMP_BYTES)
      const quick = quickDigest(picture)
      // Only what looks the same is looked at as a whole.
      const whole = quick === run.quick ? crc32(picture) : undefined
      const same = quick === run.quick && (run.whole === undefined || run.whole === whole)
      run = same ? { ...run, whole, count: run.count + 1, endT: t } : { quick, whole, count: 1, t, endT: t }
      if (run.count > longest.count) longest = run
    },
    finish() {
      const { count, t, endT } = longest
      if (count < camera.frozenPictures || endT - t < camera.frozenNs) return []
      const detail = `the same picture ${count} times in a row, for ${seconds(endT - t)}, among those that were looked at`
      return [issue('camera_frozen', { detail, t, count, value: endT - t, threshold: camera.frozenNs })]
    },
  }
}

const SLICES = 64
const SLICE_BYTES = 64

/** Of slices all over the picture, and of its length. */
function quickDigest(picture: Uint8Array): number {
  if (picture.length <= SLICES * SLICE_BYTES) return crc32(picture)
  const step = Math.floor(picture.length / SLICES)
  let digest = picture.length
  for (let n = 0; n < SLICES; n++) digest = crc32(picture.subarray(n * step, n * step + SLICE_BYTES), digest)
  return digest
}

/** A camera that shows black, where its pictures are not compressed or are JPEGs. */
export function openBlackCheck(): ContentCheck {
  let [pictures, black, firstT]: [number, number, number | undefined] = [0, 0, undefined]
  return {
    see(t, message) {
      const brightness = brightnessOf(message)
      if (brightness === undefined) return
      pictures++
      if (brightness >= camera.blackMean) return
      black++
      firstT ??= t
    },
    finish() {
      if (pictures < camera.minPictures || black < pictures * camera.blackShare) return []
      const detail = `${black} of ${pictures} pictures that were looked at are black`
      return [issue('camera_black', { detail, t: firstT, count: black, threshold: camera.blackMean })]
    },
  }
}

const eightBit = /^(rgb8|bgr8|rgba8|bgra8|mono8|8UC[1-4])$/
const withAlpha = /^(rgba8|bgra8|8UC4)$/
const PIXELS = 4096

/** From 0 to 255; undefined for what cannot be judged. */
function brightnessOf(message: unknown): number | undefined {
  const data = field(message, 'data')
  if (!(data instanceof Uint8Array) || data.length === 0) return undefined
  if (numberAt(message, 'height') === undefined) return jpegBrightness(data)
  const encoding = textAt(message, 'encoding')
  if (!eightBit.test(encoding)) return undefined
  // Alpha is not light.
  const width = withAlpha.test(encoding) ? 4 : 1
  const step = Math.max(1, Math.floor(data.length / PIXELS / width)) * width
  let [sum, count] = [0, 0]
  for (let at = 0; at < data.length; at += step, count++) sum += data[at] ?? 0
  return sum / count
}
