import { createHash, type Hash } from 'node:crypto'
import { withSlots } from '../slots.ts'
import { release } from './release.ts'
import { ObjectLost, PartLost, type Storage } from './storage.ts'

// The SHA-256 of a whole file, computed along the contiguous prefix of its parts while they arrive, so that
// `complete` reads only what is not hashed yet. It is a head start and never a truth: `digest` compares what
// was hashed with the parts it is asked about, and reads everything where they differ or nothing is known.

export type HashedPart = { number: number; bytes: number; sha256: string; object: string }

/** A part that follows the prefix directly is hashed as it streams, without being read again. */
export type Tee = { number: number; hash: Hash }

export type PrefixHashes = {
  tee(sessionId: string, partCount: number, number: number): Tee | undefined
  /** The part did not come to be. */
  abandon(sessionId: string, tee: Tee): void
  /** The part is recorded. */
  add(sessionId: string, partCount: number, part: HashedPart, tee: Tee | undefined): void
  /** A part that the storage does not have any more is a `PartLost`. */
  digest(sessionId: string, parts: HashedPart[]): Promise<Buffer>
  forget(sessionId: string): void
}

type Prefix = {
  hash: Hash
  /** The digests of the parts in `hash`, in order. */
  hashed: string[]
  /** Recorded parts that are not in `hash` yet. */
  waiting: Map<number, HashedPart>
  teeing: Tee | undefined
  catchingUp: Promise<void> | undefined
}

const MAX_SESSIONS = 256
const READ_BYTES = 4 * 2 ** 20
/** Of all sessions, each with two blocks in memory. */
const MAX_PARTS_READ = 4

export function openPrefixHashes(
  storage: Pick<Storage, 'read'>,
  /** Told whenever another part could be hashed as it streams; none while one is, or while early parts are read. */
  onWant: (sessionId: string, number: number | undefined) => void,
): PrefixHashes {
  const prefixes = new Map<string, Prefix>()
  const readPart = withSlots((hash: Hash, part: HashedPart) => readInto(storage, hash, part), MAX_PARTS_READ)

  function tellWant(sessionId: string): void {
    const prefix = prefixes.get(sessionId)
    const isBusy = prefix?.teeing || prefix?.catchingUp
    onWant(sessionId, isBusy ? undefined : (prefix?.hashed.length ?? 0) + 1)
  }

  function prefixOf(sessionId: string): Prefix {
    const known = prefixes.get(sessionId)
    if (known) return known
    const [oldest] = prefixes.keys()
    if (prefixes.size >= MAX_SESSIONS && oldest !== undefined) prefixes.delete(oldest)
    const fresh = {
      hash: createHash('sha256'),
      hashed: [],
      waiting: new Map(),
      teeing: undefined,
      catchingUp: undefined,
    }
    prefixes.set(sessionId, fresh)
    return fresh
  }

  async function catchUp(prefix: Prefix): Promise<void> {
    for (;;) {
      const number = prefix.hashed.length + 1
      const part = prefix.waiting.get(number)
      if (!part) return
      const hash = prefix.hash.copy()
      await readPart(hash, part)
      // The same part may have been sent again with other bytes while we read.
      if (prefix.waiting.get(number) !== part) continue
      prefix.waiting.delete(number)
      advance(prefix, hash, part.sha256)
    }
  }

  return {
    tee(sessionId, partCount, number) {
      // A file of one part is its part: there is nothing to hash twice.
      if (partCount === 1) return undefined
      const prefix = prefixOf(sessionId)
      if (prefix.hashed.length + 1 === number && !prefix.teeing && !prefix.catchingUp) {
        prefix.teeing = { number, hash: prefix.hash.copy() }
        return prefix.teeing
      }
      tellWant(sessionId)
      return undefined
    },

    abandon(sessionId, tee) {
      const prefix = prefixes.get(sessionId)
      if (prefix?.teeing === tee) prefix.teeing = undefined
      tellWant(sessionId)
    },

    add(sessionId, partCount, part, tee) {
      if (partCount === 1) return
      const prefix = prefixOf(sessionId)
      const isNext = part.number === prefix.hashed.length + 1
      const inTee = tee !== undefined && prefix.teeing === tee
      if (inTee) prefix.teeing = undefined
      if (part.number <= prefix.hashed.length) {
        // Sent again with other bytes: what is hashed no longer holds.
        if (prefix.hashed[part.number - 1] !== part.sha256) prefixes.delete(sessionId)
        return tellWant(sessionId)
      }
      if (inTee && isNext && !prefix.catchingUp) {
        prefix.waiting.delete(part.number)
        advance(prefix, tee.hash, part.sha256)
      } else {
        prefix.waiting.set(part.number, part)
      }
      if (prefix.catchingUp) return
      if (!prefix.waiting.has(prefix.hashed.length + 1)) return tellWant(sessionId)
      prefix.catchingUp = catchUp(prefix)
        // A part that cannot be read now will be read, and its fault told, by `digest`.
        .catch(() => void prefixes.delete(sessionId))
        .finally(() => {
          prefix.catchingUp = undefined
          tellWant(sessionId)
        })
    },

    async digest(sessionId, parts) {
      const prefix = prefixes.get(sessionId)
      await prefix?.catchingUp
      const holds = prefix?.hashed.every((sha256, index) => parts[index]?.sha256 === sha256)
      const hash = prefix && holds ? prefix.hash.copy() : createHash('sha256')
      for (const part of parts.slice(prefix && holds ? prefix.hashed.length : 0))
        await readPart(hash, part).catch((error: unknown) => {
          throw error instanceof ObjectLost ? new PartLost(part.number, error.message) : error
        })
      return hash.digest()
    },

    forget: (sessionId) => void prefixes.delete(sessionId),
  }
}

function advance(prefix: Prefix, hash: Hash, sha256: string): void {
  prefix.hash = hash
  prefix.hashed.push(sha256)
}

/** Reads the next block while the last one is hashed. */
async function readInto(storage: Pick<Storage, 'read'>, hash: Hash, part: HashedPart): Promise<void> {
  const block = (offset: number) =>
    offset < part.bytes
      ? storage.read(part.object, offset, Math.min(READ_BYTES, part.bytes - offset))
      : undefined
  let next = block(0)
  for (let offset = 0; next; ) {
    const bytes = await next
    offset += bytes.byteLength
    next = block(offset)
    // If hashing threw, nobody would await this one.
    next?.catch(() => {})
    hash.update(bytes)
    release(bytes)
  }
}
