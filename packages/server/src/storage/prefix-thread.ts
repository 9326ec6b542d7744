import { parentPort, workerData } from 'node:worker_threads'
import { toFault } from './fault.ts'
import { openStorage, type StorageSettings } from './open.ts'
import { openPrefixHashes, type Tee } from './prefix-hash.ts'
import type { FromPrefixes, ToPrefixes } from './prefix-messages.ts'
import { release } from './release.ts'

// Hashes whole files along, beside the thread that takes their parts in: that one waits for the disk, this one computes.

const port = parentPort
if (!port) throw new Error('prefix-thread.ts runs as a worker thread')

const settings: StorageSettings = workerData.storage
const tees = new Map<number, { sessionId: string; tee: Tee }>()
const prefixes = openPrefixHashes(await openStorage(settings), (sessionId, number) =>
  post({ type: 'wants', sessionId, number }),
)

port.on('message', (message: ToPrefixes) => {
  switch (message.type) {
    case 'tee': {
      const { sessionId, partCount, number } = message
      const tee = prefixes.tee(sessionId, partCount, number)
      if (tee) tees.set(message.tee, { sessionId, tee })
      return
    }
    case 'bytes': {
      const known = tees.get(message.tee)
      for (const chunk of message.chunks) {
        known?.tee.hash.update(chunk)
        release(chunk)
      }
      return post({ type: 'hashed', tee: message.tee })
    }
    case 'abandon': {
      const known = tees.get(message.tee)
      tees.delete(message.tee)
      return known && prefixes.abandon(known.sessionId, known.tee)
    }
    case 'add': {
      const known = message.tee === undefined ? undefined : tees.get(message.tee)
      if (message.tee !== undefined) tees.delete(message.tee)
      return prefixes.add(message.sessionId, message.partCount, message.part, known?.tee)
    }
    case 'digest':
      return void digest(message)
    case 'forget':
      return prefixes.forget(message.sessionId)
    default:
      throw new Error(`unknown message ${JSON.stringify(message satisfies never)}`)
  }
})

async function digest({
  question,
  sessionId,
  parts,
}: Extract<ToPrefixes, { type: 'digest' }>): Promise<void> {
  try {
    const sha256 = await prefixes.digest(sessionId, parts)
    post({ type: 'digested', question, sha256: sha256.toString('hex') })
  } catch (error) {
    post({ type: 'undigested', question, fault: toFault(error) })
  }
}

function post(message: FromPrefixes): void {
  port?.postMessage(message)
}
