import { hash } from 'node:crypto'
import { once } from 'node:events'
import { availableParallelism } from 'node:os'
import type { Readable } from 'node:stream'
import type { Worker } from 'node:worker_threads'
import { ApiError } from '../errors.ts'
import type { Fault, FromThread, IncomingPart, ToThread } from './intake-messages.ts'
import type { StorageSettings } from './open.ts'
import type { HashedPart } from './prefix-hash.ts'
import { openPump } from './pump.ts'
import { PartLost } from './storage.ts'
import { openThread } from './thread.ts'

// Takes the bytes of parts from clients to storage through threads that hash and write. The buffers of the
// socket are handed over, not copied. All parts of a session go to one thread, which hashes the whole file
// along. A client is read only as fast as its bytes go to disk, so memory stays bounded by the uploads.

export type KeptPart = {
  object: string
  /** To be called once: whether the part's row is committed. Otherwise the object is removed. */
  settle(recorded: boolean): void
}

export type Intake = {
  receive(part: IncomingPart, body: Readable): Promise<KeptPart>
  /** SHA-256 over the parts in order. A part that the storage does not have any more is a `PartLost`. */
  digest(sessionId: string, parts: HashedPart[]): Promise<Buffer>
  forget(sessionId: string): void
  close(): Promise<void>
}

type Settings = {
  storage: StorageSettings
  idleTimeoutMs: number
  threads?: number
  onError: (error: unknown) => void
}

export async function openIntake({ storage, idleTimeoutMs, threads, onError }: Settings): Promise<Intake> {
  const count = threads ?? Math.max(1, Math.min(4, availableParallelism() - 1))
  const lanes = await Promise.all(
    Array.from({ length: count }, () => openLane(storage, idleTimeoutMs, onError)),
  )
  const laneOf = (sessionId: string): Lane => {
    const lane = lanes[hash('sha1', sessionId, 'buffer').readUInt32LE() % count]
    if (!lane) throw new Error('the intake has no threads')
    return lane
  }
  return {
    receive: (part, body) => laneOf(part.sessionId).receive(part, body),
    digest: (sessionId, parts) => laneOf(sessionId).digest(sessionId, parts),
    forget: (sessionId) => laneOf(sessionId).forget(sessionId),
    close: async () => void (await Promise.all(lanes.map((lane) => lane.close()))),
  }
}

type Lane = Intake

type Pending = {
  taken(bytes: number): void
  kept(object: string): void
  refused(error: Error): void
}

type Question = { answered(sha256: Buffer): void; refused(error: Error): void }

async function openLane(
  storage: StorageSettings,
  idleTimeoutMs: number,
  onError: (error: unknown) => void,
): Promise<Lane> {
  const uploads = new Map<number, Pending>()
  const questions = new Map<number, Question>()
  let lastNumber = 0
  let closing = false
  let worker = await startThread()

  async function startThread(): Promise<Worker> {
    const thread = openThread(new URL('./intake-thread.ts', import.meta.url), storage)
    thread.on('message', hear)
    thread.on('error', onError)
    thread.on('exit', () => closing || restart())
    await once(thread, 'online')
    return thread
  }

  /** A thread that died has forgotten its uploads; their clients send again. */
  function restart(): void {
    const died = new ApiError(
      'storage_unavailable',
      'the thread that keeps parts has ended; send the part again',
      {
        retryAfterS: 1,
      },
    )
    for (const pending of [...uploads.values(), ...questions.values()]) pending.refused(died)
    uploads.clear()
    questions.clear()
    startThread().then((thread) => {
      worker = thread
    }, onError)
  }

  function say(message: ToThread, transfer: ArrayBuffer[] = []): void {
    worker.postMessage(message, transfer)
  }

  function hear(message: FromThread): void {
    switch (message.type) {
      case 'taken':
        return uploads.get(message.upload)?.taken(message.bytes)
      case 'kept':
        return uploads.get(message.upload)?.kept(message.object)
      case 'refused':
        return uploads.get(message.upload)?.refused(toError(message.fault))
      case 'digested':
        return questions.get(message.question)?.answered(Buffer.from(message.sha256, 'hex'))
      case 'undigested':
        return questions.get(message.question)?.refused(toError(message.fault))
      default:
        throw new Error(`unknown message ${JSON.stringify(message satisfies never)}`)
    }
  }

  return {
    async receive(part, body) {
      const upload = ++lastNumber
      const { promise, resolve, reject } = Promise.withResolvers<string>()
      const pump = openPump(body, part.bytes, idleTimeoutMs, {
        send: (chunks, transfer) => say({ type: 'bytes', upload, chunks }, transfer),
        end: () => say({ type: 'end', upload }),
        fail(error) {
          say({ type: 'abort', upload })
          reject(error)
        },
      })
      uploads.set(upload, { taken: pump.taken, kept: resolve, refused: reject })
      say({ type: 'begin', upload, part })
      pump.start()
      try {
        const object = await promise
        return { object, settle: (recorded) => say({ type: 'settle', upload, recorded }) }
      } finally {
        pump.stop()
        uploads.delete(upload)
      }
    },

    async digest(sessionId, parts) {
      const question = ++lastNumber
      const { promise, resolve, reject } = Promise.withResolvers<Buffer>()
      questions.set(question, { answered: resolve, refused: reject })
      say({ type: 'digest', question, sessionId, parts })
      try {
        return await promise
      } finally {
        questions.delete(question)
      }
    },

    forget: (sessionId) => say({ type: 'forget', sessionId }),

    async close() {
      closing = true
      await worker.terminate()
    },
  }
}

function toError(fault: Fault): Error {
  switch (fault.kind) {
    case 'mismatch':
      return new ApiError(
        'part_checksum_mismatch',
        `the bytes received hash to ${fault.found}, another digest than the checksum sent; nothing was kept, send the part again`,
      )
    case 'unavailable':
      return new ApiError('storage_unavailable', fault.message, { retryAfterS: 5 })
    case 'lost':
      return new PartLost(fault.number, fault.message)
    case 'unexpected':
      return new Error(fault.message)
    default:
      throw new Error(`unknown fault ${JSON.stringify(fault satisfies never)}`)
  }
}
