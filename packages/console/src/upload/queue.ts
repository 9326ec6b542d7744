import { ORGANISATION_HEADER } from '@tapedeck/contract'
import type { UploadCheckpoint, UploadProgress } from '@tapedeck/sdk'
import { loadCode } from '../api/load-code.ts'
import { findCheckpoint, forgetCheckpoint, keepCheckpoint } from './checkpoints.ts'

// Files on their way, few at a time. The SDK does the work; here is who waits, who runs, who was paused and why.

export type Upload = {
  id: number
  file: File
  site: string
  device: string
  notes: string
  state: 'waiting' | 'running' | 'paused' | 'failed' | 'done'
  /** The service has some of it from before. */
  isResumed: boolean
  progress: UploadProgress | undefined
  problem: string
  session: string
  /** Under which its session is made: a pause in that very moment does not end in two of them. */
  creationKey: string
}

export type Queue = {
  add(files: File[], about: { site: string; device: string; notes: string }): void
  pause(id: number): void
  resume(id: number): void
  dismiss(id: number): void
  pauseAll(): void
  isBusy(): boolean
  list(): Upload[]
  subscribe(listener: () => void): () => void
}

const AT_ONCE = 2

export function openQueue(organisation: string, onDone: () => void): Queue {
  let uploads: Upload[] = []
  let next = 1
  const stops = new Map<number, AbortController>()
  const listeners = new Set<() => void>()

  function change(id: number, to: Partial<Upload>): void {
    uploads = uploads.map((upload) => (upload.id === id ? { ...upload, ...to } : upload))
    for (const listener of listeners) listener()
  }

  function begin(): void {
    for (const upload of uploads) {
      if (stops.size >= AT_ONCE) return
      // One that was paused may not have come to its end yet; when it has, this is called again.
      if (upload.state === 'waiting' && !stops.has(upload.id)) void run(upload)
    }
  }

  async function run(upload: Upload): Promise<void> {
    const stop = new AbortController()
    stops.set(upload.id, stop)
    const checkpoint = findCheckpoint(organisation, upload.file)
    change(upload.id, { state: 'running', problem: '', isResumed: checkpoint !== undefined })
    try {
      const session = await send(organisation, upload, checkpoint, stop.signal, {
        onProgress: (progress) => change(upload.id, { progress }),
        onCheckpoint: (made) => {
          keepCheckpoint(organisation, upload.file, made)
          change(upload.id, { session: made.session })
          onDone()
        },
      })
      forgetCheckpoint(organisation, upload.file)
      change(upload.id, { state: 'done', session })
    } catch (error) {
      if (!stop.signal.aborted) {
        const { progress } = uploads.find(({ id }) => id === upload.id) ?? upload
        if (isUseless(error, progress !== undefined)) forgetCheckpoint(organisation, upload.file)
        change(upload.id, { state: 'failed', problem: reasonOf(error), creationKey: newCreationKey() })
      }
    } finally {
      stops.delete(upload.id)
      onDone()
      begin()
    }
  }

  function pause(id: number): void {
    change(id, { state: 'paused' })
    stops.get(id)?.abort()
  }

  return {
    add(files, about) {
      const added = files.map(
        (file): Upload => ({
          id: next++,
          file,
          ...about,
          state: file.size === 0 ? 'failed' : 'waiting',
          isResumed: false,
          progress: undefined,
          problem: file.size === 0 ? 'The file is empty: there is nothing to upload.' : '',
          session: '',
          creationKey: newCreationKey(),
        }),
      )
      uploads = [...uploads, ...added]
      for (const listener of listeners) listener()
      begin()
    },
    pause,
    resume(id) {
      change(id, { state: 'waiting', problem: '' })
      begin()
    },
    dismiss(id) {
      stops.get(id)?.abort()
      uploads = uploads.filter((upload) => upload.id !== id)
      for (const listener of listeners) listener()
    },
    pauseAll() {
      for (const id of [...stops.keys()]) pause(id)
    },
    isBusy: () => stops.size > 0,
    list: () => uploads,
    subscribe(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}

type Hooks = { onProgress(progress: UploadProgress): void; onCheckpoint(checkpoint: UploadCheckpoint): void }

async function send(
  organisation: string,
  { file, site, device, notes, creationKey }: Upload,
  checkpoint: UploadCheckpoint | undefined,
  signal: AbortSignal,
  hooks: Hooks,
): Promise<string> {
  // Loaded with the first upload: most visits have none.
  const { Tapedeck } = await loadCode(() => import('@tapedeck/sdk'))
  const tapedeck = new Tapedeck({
    baseUrl: location.origin,
    headers: { [ORGANISATION_HEADER]: organisation },
  })
  const session = await tapedeck.sessions.upload(file, {
    site,
    ...(device !== '' && { device }),
    ...(notes !== '' && { notes }),
    ...(checkpoint && { resume: checkpoint }),
    idempotencyKey: creationKey,
    signal,
    ...hooks,
  })
  return session.id
}

/** The session of the checkpoint was deleted, or is of another file: the next attempt begins anew. */
function isUseless(error: unknown, hasBegun: boolean): boolean {
  const code = codeOf(error)
  return (
    code === 'session_not_found' ||
    code === 'organisation_mismatch' ||
    (code === 'source_changed' && !hasBegun)
  )
}

function reasonOf(error: unknown): string {
  if (codeOf(error) === 'source_changed') {
    return 'The file was changed or removed while it was read. What has arrived is kept: choose the file again to go on.'
  }
  return error instanceof Error ? error.message : String(error)
}

function codeOf(error: unknown): unknown {
  return typeof error === 'object' && error ? Reflect.get(error, 'code') : undefined
}

/** As `randomUUID` would do, which pages without TLS do not have. */
function newCreationKey(): string {
  return [...crypto.getRandomValues(new Uint32Array(4))].join('-')
}
