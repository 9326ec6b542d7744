import type { Source } from './upload/source.ts'

// What differs between Node and browsers. `#platform` is one of the two.

export type Platform = {
  /** A file by its path; browsers have none. */
  openPath(path: string): Promise<Source>
  /** `inThread`: off the main thread, where one can be had. */
  openLane(inThread: boolean): Promise<Lane>
  openSender(): Sender
  /** Whether `fetch` takes a stream for a body. */
  streamsBodies: boolean
}

/** Hashes a run of bytes, and again the next one. Buffers are handed over and come back. */
export type Lane = {
  add(bytes: Uint8Array<ArrayBuffer>, ends: boolean): Promise<Hashed>
  close(): void
}
export type Hashed = {
  bytes: Uint8Array<ArrayBuffer>
  /** Hex SHA-256 of the run that ended with these bytes. */
  digest?: string
}

/** Sends parts, over connections that it keeps open between them. */
export type Sender = {
  put(request: PutRequest): Promise<PutAnswer>
  close(): void
}

export type PutRequest = {
  url: string
  headers: Record<string, string>
  source: Source
  offset: number
  length: number
  signal: AbortSignal
  /** Without any progress for so long the connection is taken for dead. */
  silenceMs: number
  onSent(bytes: number): void
  /** The last byte is out of our hands, and the answer is waited for; not every sender can tell. */
  onAllSent(): void
}

export type PutAnswer = {
  status: number
  etag: string | null
  retryAfter: string | null
  requestId: string | null
  body: string
}
