/** A part as its client announced it, before a byte of it has arrived. */
export type NewPart = { sessionId: string; number: number; bytes: number; sha256: string }

/** The bytes of one part on their way in. Nothing of them exists until `keep` has returned. */
export type PartWriter = {
  /** The chunks may be given back as soon as this has returned. */
  write(chunks: Uint8Array[]): Promise<void>
  /** The bytes are those that were announced: makes the part durable and returns its name. */
  keep(): Promise<string>
  discard(): Promise<void>
}

/** `ageMs` by the storage's own clock: since it was kept, or since it began to be. */
export type StoredObject = { name: string; ageMs: number }

/** Some of what there is, never more than memory is made for; a walk after `place` goes on behind it. */
export type Page = { objects: StoredObject[]; place: string }

/** An object never changes once it has its name. */
export type Storage = {
  openPart(part: NewPart): Promise<PartWriter>
  /** Exactly `length` bytes, the caller's own, or an error. */
  read(object: string, offset: number, length: number): Promise<Uint8Array>
  /** Removing what is not there is a success. */
  remove(objects: string[]): Promise<void>
  removeSession(sessionId: string): Promise<void>
  /** Every object, the parts of a session or what else stands among them, from behind a place on; '' is the beginning. */
  walk(place: string): AsyncIterable<Page>
  /** Removes what killed processes have left that never became an object, if it is at least this old. */
  removeLeftovers(ageMs: number): Promise<void>
  /** Writes, reads and removes a small object, to know that it can be done. */
  probe(): Promise<void>
  close(): void
}

/** The storage cannot take or give bytes now; nothing was kept. */
export class StorageUnavailable extends Error {}

/** The storage works, and does not have what it had kept. */
export class ObjectLost extends Error {}

/** Thrown where a whole recording is read: which of its parts is not there. */
export class PartLost extends Error {
  readonly number: number
  constructor(number: number, message: string) {
    super(message)
    this.number = number
  }
}
