import { stat } from 'node:fs/promises'
import { basename } from 'node:path'
import {
  NotFoundError,
  PermissionError,
  type Session,
  type Tapedeck,
  type UploadProgress,
} from '@tapedeck/sdk'
import { type Destination, type KeptState, openState, type UploadState } from './upload-state.ts'

type Options = {
  /** Where states are kept. */
  dir: string
  signal: AbortSignal
  again: boolean
  concurrency?: number
  onProgress(progress: UploadProgress): void
  onWarning(text: string): void
}

/** Uploads a file, or goes on with its upload, or finds that it was uploaded before. */
export async function uploadOnce(
  tapedeck: Tapedeck,
  path: string,
  destination: Destination,
  options: Options,
): Promise<{ session: Session; isNew: boolean }> {
  const state = await keptState(path, destination, options)
  if (state && options.again && state.value.done !== undefined) await state.forget()
  try {
    return await goOn(tapedeck, path, destination, options, state)
  } catch (error) {
    // Deleted meanwhile, or of another organisation than that of the key: not a session to go on with.
    const isLost = error instanceof NotFoundError || isOfAnother(error)
    if (!state || !isLost || !(state.value.checkpoint || state.value.done)) throw error
    await state.forget()
    return goOn(tapedeck, path, destination, options, state)
  }
}

function isOfAnother(error: unknown): boolean {
  return error instanceof PermissionError && error.code === 'organisation_mismatch'
}

async function goOn(
  tapedeck: Tapedeck,
  path: string,
  { site, device, notes, partSize }: Destination,
  { signal, concurrency, onProgress, onWarning }: Options,
  state: KeptState | undefined,
): Promise<{ session: Session; isNew: boolean }> {
  const { done, checkpoint, idempotencyKey } = state?.value ?? {}
  if (done !== undefined) return { session: await tapedeck.sessions.retrieve(done, { signal }), isNew: false }
  const save = (more: Partial<UploadState>) =>
    state?.save(more).catch((error: unknown) => onWarning(notKept(error)))
  const session = await tapedeck.sessions.upload(path, {
    site,
    signal,
    onProgress,
    ...(device !== undefined && { device }),
    ...(notes !== undefined && { notes }),
    ...(partSize !== undefined && { partSize }),
    ...(concurrency !== undefined && { concurrency }),
    ...(idempotencyKey !== undefined && { idempotencyKey }),
    ...(checkpoint && { resume: checkpoint }),
    onCheckpoint: (fresh) => save({ checkpoint: fresh }),
  })
  await save({ done: session.id })
  return { session, isNew: true }
}

/** Without a state an upload works just as well, but for going on after an interruption. */
async function keptState(path: string, destination: Destination, { dir, onWarning }: Options) {
  const file = await stat(path, { bigint: true }).catch(() => undefined)
  if (!file?.isFile()) return undefined
  try {
    return await openState(dir, file, basename(path), destination)
  } catch (error) {
    onWarning(notKept(error))
    return undefined
  }
}

function notKept(error: unknown): string {
  const reason = error instanceof Error ? error.message : String(error)
  return `the state of the upload cannot be kept (${reason}); if it is interrupted it begins anew`
}
