import { createHash, type Hash } from 'node:crypto'
import { parentPort, workerData } from 'node:worker_threads'
import type { Fault, FromThread, IncomingPart, ToThread } from './intake-messages.ts'
import { openStorage, type StorageSettings } from './open.ts'
import { openPrefixHashes, type Tee } from './prefix-hash.ts'
import { release } from './release.ts'
import { type PartWriter, StorageUnavailable } from './storage.ts'

// Hashes and writes the bytes of parts, so that the thread that answers requests does neither.

type Upload = {
  part: IncomingPart
  hash: Hash
  tee: Tee | undefined
  writer: PartWriter | undefined
  object: string | undefined
  /** The steps of one upload, one after the other. */
  tail: Promise<void>
  over: boolean
}

const port = parentPort
if (!port) throw new Error('intake-thread.ts runs as a worker thread')

const settings: StorageSettings = workerData.storage
const storage = await openStorage(settings)
const prefixes = openPrefixHashes(storage)
const uploads = new Map<number, Upload>()

port.on('message', (message: ToThread) => {
  switch (message.type) {
    case 'begin':
      return begin(message.upload, message.part)
    case 'bytes':
      return take(message.upload, message.chunks)
    case 'end':
      return step(message.upload, (upload) => keep(message.upload, upload))
    case 'abort':
      return step(message.upload, (upload) => giveUp(message.upload, upload))
    case 'settle':
      return step(message.upload, (upload) => settle(message.upload, upload, message.recorded))
    case 'digest':
      return void digest(message)
    case 'forget':
      return prefixes.forget(message.sessionId)
    default:
      throw new Error(`unknown message ${JSON.stringify(message satisfies never)}`)
  }
})

function begin(id: number, part: IncomingPart): void {
  const tee = prefixes.tee(part.sessionId, part.partCount, part.number)
  const hash = createHash('sha256')
  uploads.set(id, {
    part,
    hash,
    tee,
    writer: undefined,
    object: undefined,
    tail: Promise.resolve(),
    over: false,
  })
  step(id, async (upload) => {
    upload.writer = await storage.openPart(part)
  })
}

function take(id: number, chunks: Uint8Array<ArrayBuffer>[]): void {
  const upload = uploads.get(id)
  if (!upload) return
  let bytes = 0
  for (const chunk of chunks) {
    bytes += chunk.byteLength
    upload.hash.update(chunk)
    upload.tee?.hash.update(chunk)
  }
  step(id, async () => {
    await upload.writer?.write(chunks)
    for (const chunk of chunks) release(chunk)
    post({ type: 'taken', upload: id, bytes })
  })
}

async function keep(id: number, upload: Upload): Promise<void> {
  const found = upload.hash.digest('hex')
  if (found !== upload.part.sha256 || !upload.writer) {
    await giveUp(id, upload)
    return post({ type: 'refused', upload: id, fault: { kind: 'mismatch', found } })
  }
  upload.object = await upload.writer.keep()
  post({ type: 'kept', upload: id, object: upload.object })
}

async function settle(id: number, { part, object, tee }: Upload, recorded: boolean): Promise<void> {
  uploads.delete(id)
  if (object === undefined) return
  if (recorded) return prefixes.add(part.sessionId, part.partCount, { ...part, object }, tee)
  if (tee) prefixes.abandon(part.sessionId, tee)
  await storage.remove([object])
}

async function giveUp(id: number, upload: Upload): Promise<void> {
  upload.over = true
  uploads.delete(id)
  if (upload.tee) prefixes.abandon(upload.part.sessionId, upload.tee)
  await upload.writer?.discard()
}

/** Runs the next step of an upload after those before it; a fault ends the upload and is told once. */
function step(id: number, act: (upload: Upload) => Promise<void>): void {
  const upload = uploads.get(id)
  if (!upload) return
  upload.tail = upload.tail
    .then(() => (upload.over ? undefined : act(upload)))
    .catch(async (error: unknown) => {
      const fault = toFault(error)
      await giveUp(id, upload).catch(() => {})
      post({ type: 'refused', upload: id, fault })
    })
}

async function digest({ question, sessionId, parts }: Extract<ToThread, { type: 'digest' }>): Promise<void> {
  try {
    const sha256 = await prefixes.digest(sessionId, parts)
    post({ type: 'digested', question, sha256: sha256.toString('hex') })
  } catch (error) {
    post({ type: 'undigested', question, fault: toFault(error) })
  }
}

function toFault(error: unknown): Fault {
  const message = error instanceof Error ? error.message : String(error)
  return { kind: error instanceof StorageUnavailable ? 'unavailable' : 'unexpected', message }
}

function post(message: FromThread): void {
  port?.postMessage(message)
}
