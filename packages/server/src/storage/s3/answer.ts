import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { StorageUnavailable } from '../storage.ts'

export type S3Response = { status: number; headers: IncomingHttpHeaders; body: Buffer }

/** Far above what is ever asked for at once. */
const MAX_BODY_BYTES = 64 * 2 ** 20

/** The whole body, in memory of its own, or an error where it is cut short. */
export async function collect(response: IncomingMessage, method: string): Promise<S3Response> {
  const announced = method === 'HEAD' ? 0 : Number(response.headers['content-length'] ?? 0)
  if (announced > MAX_BODY_BYTES) throw tooLarge(response)
  // Read into its place: answers to ranged reads are large and tell their length.
  let body: Buffer = Buffer.allocUnsafeSlow(announced)
  let filled = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    if (filled + chunk.length > body.length)
      body = grown(body.subarray(0, filled), filled + chunk.length, response)
    filled += chunk.copy(body, filled)
  }
  if (filled < announced) throw new StorageUnavailable('the store cut its answer short')
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    body: filled === body.length ? body : body.subarray(0, filled),
  }
}

function grown(bytes: Buffer, needed: number, response: IncomingMessage): Buffer {
  if (needed > MAX_BODY_BYTES) throw tooLarge(response)
  const larger = Buffer.allocUnsafeSlow(Math.min(MAX_BODY_BYTES, Math.max(needed, 2 * bytes.length)))
  bytes.copy(larger)
  return larger
}

function tooLarge(response: IncomingMessage): Error {
  response.destroy()
  return new Error(`the store answers with more than ${MAX_BODY_BYTES} bytes`)
}
