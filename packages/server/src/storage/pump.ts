import type { Readable } from 'node:stream'
import { ApiError } from '../errors.ts'

/** The client went away, or was silent for too long, before the part was whole. */
export class ClientGone extends Error {}

/** What is on its way to the thread for one upload before its client has to wait. */
const MAX_IN_FLIGHT_BYTES = 2 * 2 ** 20
const BATCH_BYTES = 512 * 2 ** 10
/**
 * What has to arrive within the time that silence is allowed to last: far below any link that works, and far above what
 * somebody sends who only wants to hold a place.
 */
export const LEAST_BYTES = 4 * 2 ** 10
/** A slow client's bytes go on at this age: a store cuts connections that are silent for long. */
const BATCH_MS = 1_000

type PumpEvents = {
  send(chunks: Uint8Array<ArrayBuffer>[], transfer: ArrayBuffer[]): void
  end(): void
  fail(error: Error): void
}

/** Moves a request's body on in batches, waits when too much is under way, and ends a client that is silent. */
export function openPump(body: Readable, expectedBytes: number, idleTimeoutMs: number, events: PumpEvents) {
  let batch: Uint8Array[] = []
  let batchBytes = 0
  let flushedMs = performance.now()
  let inFlight = 0
  let received = 0
  let receivedInTime = 0
  let idle = setTimeout(endIdle, idleTimeoutMs)

  function waitOn(): void {
    clearTimeout(idle)
    idle = setTimeout(endIdle, idleTimeoutMs)
  }

  function endIdle(): void {
    // While we make the client wait, its silence is not its fault.
    if (body.isPaused()) return waitOn()
    fail(new ClientGone(`less than ${LEAST_BYTES} bytes were received within ${idleTimeoutMs} ms`))
    body.destroy()
  }

  function flush(): void {
    if (batchBytes === 0) return
    const chunks = batch.map(ownBuffer)
    inFlight += batchBytes
    events.send(
      chunks,
      chunks.map((chunk) => chunk.buffer),
    )
    batch = []
    batchBytes = 0
    flushedMs = performance.now()
    if (inFlight > MAX_IN_FLIGHT_BYTES) body.pause()
  }

  function onData(chunk: Uint8Array): void {
    received += chunk.byteLength
    if (received - receivedInTime >= LEAST_BYTES) {
      receivedInTime = received
      waitOn()
    }
    if (received > expectedBytes) return fail(sizeMismatch(expectedBytes, `more than ${expectedBytes}`))
    batch.push(chunk)
    batchBytes += chunk.byteLength
    if (batchBytes >= BATCH_BYTES || performance.now() - flushedMs > BATCH_MS) flush()
  }

  function onEnd(): void {
    clearTimeout(idle)
    if (received !== expectedBytes) return fail(sizeMismatch(expectedBytes, String(received)))
    flush()
    events.end()
  }

  const onClose = () => {
    if (!body.readableEnded) fail(new ClientGone('the connection closed before the part was whole'))
  }

  function fail(error: Error): void {
    stop()
    events.fail(error)
  }

  function stop(): void {
    clearTimeout(idle)
    body.off('data', onData).off('end', onEnd).off('close', onClose)
  }

  return {
    start() {
      // Gone while we looked at the head: its `close` has been emitted and will not come again.
      if (body.destroyed) return fail(new ClientGone('the connection closed before the part was begun'))
      body
        .on('close', onClose)
        .on('error', () => {})
        .on('end', onEnd)
        .on('data', onData)
    },
    taken(bytes: number) {
      inFlight -= bytes
      if (inFlight <= MAX_IN_FLIGHT_BYTES / 2 && body.isPaused()) body.resume()
    },
    stop,
  }
}

/** A chunk alone in its memory can be handed to another thread; others are copied first. */
function ownBuffer(chunk: Uint8Array): Uint8Array<ArrayBuffer> {
  const { buffer } = chunk
  const alone = buffer instanceof ArrayBuffer && buffer.byteLength === chunk.byteLength
  return alone ? new Uint8Array(buffer) : new Uint8Array(chunk)
}

function sizeMismatch(expected: number, found: string): ApiError {
  return new ApiError(
    'part_size_mismatch',
    `the part must have ${expected} bytes, ${found} were sent; nothing was kept`,
  )
}
