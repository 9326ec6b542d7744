import type { Worker } from 'node:worker_threads'
import type { Fault } from './intake-messages.ts'
import type { StorageSettings } from './open.ts'
import type { HashedPart } from './prefix-hash.ts'
import type { FromPrefixes, ToPrefixes } from './prefix-messages.ts'
import { openThread } from './thread.ts'

// The intake thread's side of the thread that hashes whole files along. Which part to hash as it streams is decided here by
// what that thread has last said; it has the last word, and leaves out what it did not want.

export type Teeing = {
  /** Hands the bytes over: they must not be looked at again. Returns when they are hashed. */
  bytes(chunks: Uint8Array<ArrayBuffer>[]): Promise<void>
  abandon(): void
}

export type Prefixes = {
  tee(sessionId: string, partCount: number, number: number): Teeing | undefined
  /** The part is recorded. */
  add(sessionId: string, partCount: number, part: HashedPart, tee: Teeing | undefined): void
  digest(sessionId: string, parts: HashedPart[]): Promise<{ sha256: string } | { fault: Fault }>
  forget(sessionId: string): void
}

const MAX_SESSIONS = 1024

export function openPrefixes(storage: StorageSettings): Prefixes {
  const wanted = new Map<string, number | undefined>()
  const hashing = new Map<number, (() => void)[]>()
  const questions = new Map<number, (answer: { sha256: string } | { fault: Fault }) => void>()
  const numbers = new WeakMap<Teeing, number>()
  let last = 0
  let worker: Worker | undefined

  const say = (message: ToPrefixes, transfer: ArrayBuffer[] = []) => {
    worker ??= startThread()
    worker.postMessage(message, transfer)
  }
  const answer = (question: number, found: { sha256: string } | { fault: Fault }) => {
    questions.get(question)?.(found)
    questions.delete(question)
  }

  /** When the first file of several parts comes: many services only ever see small ones. */
  function startThread(): Worker {
    const thread = openThread(new URL('./prefix-thread.ts', import.meta.url), storage)
    thread.on('message', hear)
    // Its end is ours: whoever has started us starts us anew, with a fresh one.
    thread.on('error', (error) => {
      throw error
    })
    return thread
  }

  function hear(message: FromPrefixes): void {
    switch (message.type) {
      case 'wants':
        return want(message.sessionId, message.number)
      case 'hashed':
        return hashing.get(message.tee)?.shift()?.()
      case 'digested':
        return answer(message.question, { sha256: message.sha256 })
      case 'undigested':
        return answer(message.question, { fault: message.fault })
      default:
        throw new Error(`unknown message ${JSON.stringify(message satisfies never)}`)
    }
  }

  function want(sessionId: string, number: number | undefined): void {
    wanted.delete(sessionId)
    wanted.set(sessionId, number)
    const [oldest] = wanted.keys()
    if (wanted.size > MAX_SESSIONS && oldest !== undefined) wanted.delete(oldest)
  }

  return {
    tee(sessionId, partCount, number) {
      // A file of one part is its part: there is nothing to hash twice.
      if (partCount === 1) return undefined
      if ((wanted.has(sessionId) ? wanted.get(sessionId) : 1) !== number) return undefined
      want(sessionId, undefined)
      const tee = ++last
      hashing.set(tee, [])
      say({ type: 'tee', tee, sessionId, partCount, number })
      const teeing: Teeing = {
        bytes(chunks) {
          const { promise, resolve } = Promise.withResolvers<void>()
          hashing.get(tee)?.push(resolve)
          say(
            { type: 'bytes', tee, chunks },
            chunks.map(({ buffer }) => buffer),
          )
          return promise
        },
        abandon() {
          hashing.delete(tee)
          say({ type: 'abandon', tee })
        },
      }
      numbers.set(teeing, tee)
      return teeing
    },

    add(sessionId, partCount, part, teeing) {
      if (partCount === 1) return
      const tee = teeing && numbers.get(teeing)
      if (tee !== undefined) hashing.delete(tee)
      say({ type: 'add', sessionId, partCount, part, tee })
    },

    digest(sessionId, parts) {
      const question = ++last
      const { promise, resolve } = Promise.withResolvers<{ sha256: string } | { fault: Fault }>()
      questions.set(question, resolve)
      say({ type: 'digest', question, sessionId, parts })
      return promise
    },

    forget(sessionId) {
      wanted.delete(sessionId)
      if (worker) say({ type: 'forget', sessionId })
    },
  }
}
