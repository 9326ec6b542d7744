import { crc32 } from 'node:zlib'
import type { ContentCheck } from './content-check.ts'
import { type FoundIssue, issue } from './issue.ts'
import { seconds } from './timing-checks.ts'
import { field, numberAt, textAt } from './values.ts'

/** Behind the stamp, which changes even when the picture does not. */
const STAMP_BYTES = 16
const FROZEN_PICTURES = 10
const FROZEN_NS = 1e9
const BLACK_MEAN = 4
const BLACK_SHARE = 0.5
const MIN_PICTURES = 3

export type CameraCheck = ContentCheck & { seeBytes(t: number, payload: Uint8Array): void }

/** A camera that repeats itself, or shows black (where the picture is not compressed). */
export function openCameraCheck(): CameraCheck {
  let run = { digest: -1, count: 0, t: 0, endT: 0 }
  let longest = run
  let [pictures, black, firstBlack]: [number, number, number | undefined] = [0, 0, undefined]
  return {
    seeBytes(t, payload) {
      const digest = crc32(payload.subarray(STAMP_BYTES))
      run =
        digest === run.digest ? { ...run, count: run.count + 1, endT: t } : { digest, count: 1, t, endT: t }
      if (run.count > longest.count) longest = run
    },
    see(t, message) {
      const mean = meanOf(message)
      if (mean === undefined) return
      pictures++
      if (mean >= BLACK_MEAN) return
      black++
      firstBlack ??= t
    },
    finish() {
      return [...frozen(longest), ...blackIssue(pictures, black, firstBlack)]
    },
  }
}

function frozen({ count, t, endT }: { count: number; t: number; endT: number }): FoundIssue[] {
  if (count < FROZEN_PICTURES || endT - t < FROZEN_NS) return []
  const detail = `the same picture ${count} times in a row, for ${seconds(endT - t)}, among those that were looked at`
  return [issue('camera_frozen', { detail, t, count, value: endT - t, threshold: FROZEN_NS })]
}

function blackIssue(pictures: number, black: number, t: number | undefined): FoundIssue[] {
  if (pictures < MIN_PICTURES || black < pictures * BLACK_SHARE) return []
  const detail = `${black} of ${pictures} pictures that were looked at are black`
  return [issue('camera_black', { detail, t, count: black })]
}

const eightBit = /^(rgb8|bgr8|rgba8|bgra8|mono8|8UC[1-4])$/

/** Mean brightness of some pixels of an uncompressed picture. */
function meanOf(message: unknown): number | undefined {
  const data = field(message, 'data')
  if (!(data instanceof Uint8Array) || data.length === 0) return undefined
  if (!eightBit.test(textAt(message, 'encoding')) || numberAt(message, 'height') === undefined)
    return undefined
  const step = Math.max(1, Math.floor(data.length / 4096))
  let [sum, count] = [0, 0]
  for (let index = 0; index < data.length; index += step, count++) sum += data[index] ?? 0
  return sum / count
}
