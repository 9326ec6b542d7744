import { createHash, type Hash } from 'node:crypto'
import { parentPort, workerData } from 'node:worker_threads'
import { toFault } from './fault.ts'
import type { FromThread, IncomingPart, ToThread } from './intake-messages.ts'
import { openStorage, type StorageSettings } from './open.ts'
import { openPrefixes, type Teeing } from './prefixes.ts'
import { release } from './release.ts'
import type { PartWriter } from './storage.ts'

// Hashes and writes the bytes of parts, so that the thread that answers requests does neither.

type Upload = {
  part: IncomingPart
  hash: Hash
  tee: Teeing | undefined
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
const prefixes = openPrefixes(settings)
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
  }
  const taken = () => post({ type: 'taken', upload: id, bytes })
  step(id, async () => {
    await upload.writer?.write(chunks)
    // The next are written while these are hashed once more.
    if (upload.tee) return void upload.tee.bytes(chunks).then(taken)
    for (const chunk of chunks) release(chunk)
    taken()
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
  tee?.abandon()
  await storage.remove([object])
}

async function giveUp(id: number, upload: Upload): Promise<void> {
  upload.over = true
  uploads.delete(id)
  upload.tee?.abandon()
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
  const found = await prefixes.digest(sessionId, parts)
  post(
    'sha256' in found ? { type: 'digested', question, ...found } : { type: 'undigested', question, ...found },
  )
}

function post(message: FromThread): void {
  port?.postMessage(message)
}
