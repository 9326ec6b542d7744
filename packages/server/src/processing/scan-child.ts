import { mkdirSync, rmSync } from 'node:fs'
import { flushCompileCache } from 'node:module'
import { analyse } from '@tapedeck/analysis'
import { openDisk } from '../storage/disk.ts'
import { openRecording, type Recording } from '../storage/recording.ts'
import { ObjectLost } from '../storage/storage.ts'
import { openAskedSource } from './asked-source.ts'
import type { ScanReply, ScanRequest, ScanSource, ToScan } from './scan-messages.ts'

// One recording in a process of its own: whatever a hostile file does to a library, it does it here.

const PROGRESS_EVERY_MS = 200

const asked = new Map<number, (bytes: Uint8Array) => void>()
let lastQuestion = 0
const [, , tempDir = ''] = process.argv

process.on('message', (message: ToScan) => {
  switch (message.type) {
    case 'scan':
      return void run(message)
    case 'bytes':
      return asked.get(message.question)?.(message.bytes)
    default:
      throw new Error(`unknown message ${JSON.stringify(message satisfies never)}`)
  }
})
// Nobody is left to tell the result, or to tidy up: a worker that lives kills this process and does it itself.
process.on('exit', () => rmSync(tempDir, { recursive: true, force: true }))
process.on('disconnect', () => process.exit(1))
if (!process.connected) process.exit(1)
mkdirSync(tempDir, { mode: 0o700 })

async function run({ source: where, ...request }: ScanRequest): Promise<void> {
  try {
    const source = await openSource(where)
    const signal = new AbortController().signal
    const onProgress = throttled((fraction) => reply({ type: 'progress', fraction }))
    const analysis = await analyse(source, { ...request, tempDir, signal, onProgress })
    // For those that come after: having told its result, this process is killed.
    flushCompileCache()
    reply({ type: 'done', analysis })
  } catch (error) {
    reply({ type: 'fault', message: messageOf(error) })
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}

async function openSource(source: ScanSource): Promise<Recording> {
  if (source.kind === 'asked') return openAskedSource(source.bytes, ask)
  const recording = openRecording(await openDisk(source.root), source.parts)
  return {
    size: recording.size,
    read: (offset, length) =>
      recording.read(offset, length).catch((error: unknown) => {
        // Told here: a reader might take it for damage of the file. Only what it should not have asked for is its own.
        if (error instanceof ObjectLost) reply({ type: 'lost', message: error.message })
        else if (!(error instanceof RangeError)) reply({ type: 'fault', message: messageOf(error) })
        throw error
      }),
  }
}

async function ask(offset: number, length: number): Promise<Uint8Array> {
  const question = ++lastQuestion
  const { promise, resolve } = Promise.withResolvers<Uint8Array>()
  asked.set(question, resolve)
  reply({ type: 'read', question, offset, length })
  try {
    return await promise
  } finally {
    asked.delete(question)
  }
}

function throttled(tell: (fraction: number) => void): (fraction: number) => void {
  let lastMs = 0
  return (fraction) => {
    if (performance.now() - lastMs < PROGRESS_EVERY_MS) return
    lastMs = performance.now()
    tell(fraction)
  }
}

function reply(message: ScanReply): void {
  process.send?.(message)
}
