import type { ErrorCode } from '@tapedeck/contract'
import { errorStatus } from '@tapedeck/contract'
import { partsOf, recording, sha256 } from './client.ts'

// What a session is, in as few words as possible: the parts that were received last, and whether it was
// completed or deleted. The real service must answer as this does.

export type Bytes = { bytes: Uint8Array<ArrayBuffer>; hex: string; base64: string }

/** A file in parts; for every part also other bytes of the same length, a byte less, and a byte more. */
export type ModelFile = {
  bytes: number
  sha256: string
  right: Bytes[]
  other: Bytes[]
  short: Bytes[]
  long: Bytes[]
}

export type Variant = 'right' | 'other'

export type ModelSession = {
  id: string
  /** Where each part goes, as signed when the session was created. */
  partPaths: string[]
  file: ModelFile
  /** Whether the session was created with the digest of its file, or with another one. */
  declares: Variant
  state: 'uploading' | 'completed' | 'deleted'
  received: Map<number, Variant>
}

/** How a part is sent. */
export const sendings = [
  'right',
  'other',
  'corrupted',
  'one byte short',
  'one byte long',
  'one byte short, unannounced',
  'one byte long, unannounced',
  'without checksum',
] as const
export type Sending = (typeof sendings)[number]

/** How the parts are named to `complete`. */
export const namings = [
  'as received',
  'as in the file',
  'without the last',
  'first and last swapped',
] as const
export type Naming = (typeof namings)[number]

export type Expected = { status: number; code?: ErrorCode; param?: string }

const ok: Expected = { status: 200 }

export function makeFile(partCount: number, seed: number): ModelFile {
  const [right, other] = [recording(partCount, seed), recording(partCount, seed + 1000)]
  return {
    bytes: right.length,
    sha256: sha256(right).toString('hex'),
    right: partsOf(right).map(toBytes),
    other: partsOf(other).map(toBytes),
    short: partsOf(right).map((part) => toBytes(part.subarray(1))),
    long: partsOf(right).map((part) => toBytes(withOneMore(part))),
  }
}

function withOneMore(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const longer = new Uint8Array(bytes.length + 1)
  longer.set(bytes)
  return longer
}

function toBytes(bytes: Uint8Array<ArrayBuffer>): Bytes {
  const digest = sha256(bytes)
  return { bytes, hex: digest.toString('hex'), base64: digest.toString('base64') }
}

/** What the part must be answered with; it is received if and only if that is a success. */
export function expectPut(session: ModelSession, sending: Sending): Expected {
  if (session.state === 'deleted') return refusal('session_not_found')
  if (session.state === 'completed') return refusal('upload_closed')
  switch (sending) {
    case 'right':
    case 'other':
      return ok
    case 'corrupted':
      return refusal('part_checksum_mismatch')
    case 'one byte short':
    case 'one byte long':
      return refusal('part_size_mismatch', 'Content-Length')
    case 'one byte short, unannounced':
    case 'one byte long, unannounced':
      return refusal('part_size_mismatch')
    case 'without checksum':
      return refusal('checksum_required', 'x-amz-checksum-sha256')
    default:
      throw new Error(sending satisfies never)
  }
}

/** What `complete` must be answered with; the session is completed if and only if that is a success. */
export function expectComplete(session: ModelSession, naming: Naming): Expected {
  const { file, received, declares } = session
  if (session.state === 'deleted') return refusal('session_not_found')
  if (session.state === 'completed') return refusal('already_completed')
  if (naming === 'without the last' || naming === 'first and last swapped') {
    return refusal('parameter_invalid', 'parts')
  }
  if (received.size < file.right.length) return refusal('parts_missing', 'parts')
  const wrong = file.right.findIndex((_, index) => received.get(index + 1) !== 'right')
  if (naming === 'as in the file' && wrong !== -1) return refusal('parameter_invalid', `parts[${wrong}].etag`)
  if (wrong !== -1 || declares === 'other') return refusal('checksum_mismatch')
  return ok
}

/** The body of `complete`. Parts that were not received are named as they are in the file. */
export function nameParts({ file, received }: ModelSession, naming: Naming) {
  const named = file.right.map(({ hex }, index) => {
    const variant = naming === 'as in the file' ? 'right' : (received.get(index + 1) ?? 'right')
    return { number: index + 1, etag: `"${variant === 'right' ? hex : file.other[index]?.hex}"` }
  })
  if (naming === 'without the last') return named.slice(0, -1)
  if (naming === 'first and last swapped') return named.reverse()
  return named
}

/** `upload` of a retrieved session, without its URLs. */
export function expectUpload({ file, received }: ModelSession) {
  const numbers = file.right.map((_, index) => index + 1)
  return {
    parts: numbers.filter((number) => !received.has(number)),
    received: numbers.flatMap((number) => {
      const variant = received.get(number)
      const blob = variant && file[variant][number - 1]
      if (!blob) return []
      return [{ number, bytes: blob.bytes.length, sha256: blob.hex, etag: `"${blob.hex}"` }]
    }),
  }
}

function refusal(code: ErrorCode, param = ''): Expected {
  return { status: errorStatus(code), code, param }
}
