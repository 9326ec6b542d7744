/** A part that is durable under a name of its own; an object never changes once it has that name. */
export type StoredObject = { object: string; bytes: number; sha256: string }

/** The bytes of one part on their way in. Nothing of them exists until `keep` has returned. */
export type PartWriter = {
  write(chunks: Uint8Array[]): Promise<void>
  /** Makes the part durable and returns its name. */
  keep(sha256: string): Promise<string>
  discard(): Promise<void>
}

/** Where recordings are kept. Every backend passes the same suite. */
export type Storage = {
  openPart(sessionId: string, number: number, bytes: number): Promise<PartWriter>
  /** Exactly `length` bytes, the caller's own, or an error. */
  read(object: string, offset: number, length: number): Promise<Uint8Array>
  /** Removing what is not there is a success. */
  remove(objects: string[]): Promise<void>
  removeSession(sessionId: string): Promise<void>
  /** Writes, reads and removes a small object, to know that it can be done. */
  probe(): Promise<void>
}

/** The storage cannot take or give bytes now; nothing was kept. */
export class StorageUnavailable extends Error {}
