import { InvalidRequestError, SourceError, TapedeckError } from '../errors.ts'
import type { CreateSession, Session } from '../objects.ts'
import type { Platform, Sender } from '../platform.ts'
import type { Sessions } from '../resources/sessions.ts'
import { pause } from '../retry.ts'
import { newIdempotencyKey, type Transport, wrongOption } from '../transport.ts'
import { readCheckpoint, type UploadCheckpoint } from './checkpoint.ts'
import { digest } from './digest.ts'
import { openFetchSender } from './fetch-sender.ts'
import { openPatience, type Patience } from './patience.ts'
import { choosePartSize } from './plan.ts'
import { openProgress, type UploadProgress } from './progress.ts'
import { type Sending, sendParts, UploadClosed } from './send-parts.ts'
import { openSource, type Source, type UploadSource } from './source.ts'

// Hash, create, send, complete. From the creation on the service knows more than we do: whenever something is unclear,
// the session is asked for what is missing, and the loop goes on with that.

export type UploadOptions = {
  site: string
  device?: string
  notes?: string
  /** Default: the name of the file. */
  filename?: string
  /** Bytes in a part. Small parts lose less on a link that breaks often. Default 64 MiB. */
  partSize?: number
  /** Parts that are sent at once; on Node as many again may wait for their answers. Default 4. */
  concurrency?: number
  signal?: AbortSignal
  onProgress?(progress: UploadProgress): void
  /** Goes on with an upload: what `onCheckpoint` gave (nothing is hashed again), or the id of a session. */
  resume?: UploadCheckpoint | string
  /** Called once the session is there, with all that it takes to go on after an interruption. */
  onCheckpoint?(checkpoint: UploadCheckpoint): void | Promise<void>
  /** For the creation: another upload with the same key and the same file goes into the same session. */
  idempotencyKey?: string
}

type Deps = { transport: Transport; sessions: Sessions; platform: Platform }

const DEFAULT_CONCURRENCY = 4
const MAX_CONCURRENCY = 64
const MAX_REFUSED_COMPLETIONS = 3
const COMPLETING_PAUSE_MS = 1_000

/** Uploads a recording and completes its session. */
export async function upload(deps: Deps, given: UploadSource, options: UploadOptions): Promise<Session> {
  const concurrency = readConcurrency(options.concurrency)
  const signal = options.signal ?? new AbortController().signal
  signal.throwIfAborted()
  const source = await openSource(given, deps.platform.openPath)
  const { ownFetch } = deps.transport
  const sender = ownFetch ? openFetchSender(ownFetch, deps.platform) : deps.platform.openSender()
  try {
    return await transfer(deps, source, sender, { ...options, concurrency, signal })
  } finally {
    sender.close()
    await source.close()
  }
}

type Settled = UploadOptions & { concurrency: number; signal: AbortSignal }

async function transfer(deps: Deps, source: Source, sender: Sender, options: Settled): Promise<Session> {
  const { sessions, platform, transport } = deps
  const { signal, concurrency } = options
  const progress = openProgress(source.size, (now) => options.onProgress?.(now))
  const patience = openPatience(signal)
  const checkpoint = await begin(deps, source, options, patience, (bytes) => {
    patience.moved()
    progress.hashed(bytes)
  })
  const ask = () => patience.untilDone(() => sessions.retrieve(checkpoint.session, { signal, maxRetries: 0 }))
  const sending: Sending = {
    platform,
    sender,
    source,
    checkpoint,
    concurrency,
    signal,
    silenceMs: transport.timeoutMs,
    progress,
    patience,
    freshUrls: async () => urlsOf(await ask()),
  }

  for (let refusals = 0; ; ) {
    const session = await ask()
    if (session.status !== 'uploading' || !session.upload) return session
    checkSame(session, checkpoint)
    const { received } = session.upload
    const etags = new Map(
      received
        .filter(({ number, sha256 }) => sha256 === checkpoint.parts[number - 1])
        .map(({ number, etag }) => [number, etag]),
    )
    const missing = checkpoint.parts.map((_, index) => index + 1).filter((number) => !etags.has(number))
    const arrivedBytes = received
      .filter(({ number }) => etags.has(number))
      .reduce((sum, { bytes }) => sum + bytes, 0)
    progress.begin({ bytes: arrivedBytes, parts: etags.size }, checkpoint.parts.length)
    try {
      const sent = await sendParts(sending, missing, urlsOf(session))
      for (const [number, etag] of sent) etags.set(number, etag)
      await source.check()
      progress.completing()
      return await patience.untilDone(() => complete(sessions, checkpoint, etags, sending))
    } catch (error) {
      // What we believed of the session is not so (any more). It is asked again, and what differs is sent again.
      if (error instanceof UploadClosed || isOutdated(error)) refusals++
      else throw error
      if (refusals > MAX_REFUSED_COMPLETIONS) throw error
    }
  }
}

async function begin(
  { sessions, platform }: Deps,
  source: Source,
  options: Settled,
  patience: Patience,
  onHashed: (bytes: number) => void,
): Promise<UploadCheckpoint> {
  const { resume, signal, onCheckpoint, idempotencyKey = newIdempotencyKey() } = options
  if (typeof resume === 'object') return readCheckpoint(resume, source)
  if (typeof resume === 'string') {
    const session = await sessions.retrieve(resume, { signal })
    const { part_size } = session.upload ?? { part_size: choosePartSize(source.size, undefined) }
    const { sha256, parts } = await digest(platform, source, part_size, { signal, onHashed })
    await source.check()
    const checkpoint = { session: resume, bytes: source.size, sha256, part_size, parts }
    checkSame(session, checkpoint)
    await onCheckpoint?.(checkpoint)
    return checkpoint
  }
  const part_size = choosePartSize(source.size, options.partSize)
  const known = { ...describe(source, options), bytes: source.size, part_size }
  await rehearse(sessions, known, signal)
  const { sha256, parts } = await digest(platform, source, part_size, { signal, onHashed })
  await source.check()
  // With one key for all tries: after hours of hashing a link that is down just now is waited for.
  const created = await patience.untilDone(() =>
    sessions.create({ ...known, sha256 }, { signal, idempotencyKey, maxRetries: 0 }),
  )
  const checkpoint = { session: created.id, bytes: source.size, sha256, part_size, parts }
  await onCheckpoint?.(checkpoint)
  return checkpoint
}

function describe(source: Source, { site, device, notes, filename = source.name }: UploadOptions) {
  if (filename === undefined)
    throw wrongOption('filename', 'filename is needed: this source has no name of its own')
  return {
    site,
    filename,
    ...(device !== undefined && { device }),
    ...(notes !== undefined && { notes }),
  }
}

/**
 * Hashing takes minutes to hours. Before that the service is asked to create the session with an empty digest: it
 * refuses that, and by what it refuses first we know that the key may write and that site, name and size will do.
 */
async function rehearse(
  sessions: Sessions,
  known: Omit<CreateSession, 'sha256'>,
  signal: AbortSignal,
): Promise<void> {
  try {
    await sessions.create({ ...known, sha256: '' }, { signal })
  } catch (error) {
    if (error instanceof InvalidRequestError && error.param === 'sha256') return
    throw error
  }
}

/** A completion whose answer was lost has happened, or goes on behind our back: then its session tells how it ended. */
async function complete(
  sessions: Sessions,
  checkpoint: UploadCheckpoint,
  etags: Map<number, string>,
  { signal, patience }: Pick<Sending, 'signal' | 'patience'>,
): Promise<Session> {
  const parts = checkpoint.parts.map((_, index) => ({
    number: index + 1,
    etag: etags.get(index + 1) ?? '',
  }))
  for (;;) {
    try {
      return await sessions.complete(checkpoint.session, { parts }, { signal, maxRetries: 0 })
    } catch (error) {
      signal.throwIfAborted()
      const session = await sessions.retrieve(checkpoint.session, { signal, maxRetries: 0 })
      if (session.status !== 'uploading') return session
      if (!(error instanceof TapedeckError) || error.code !== 'completion_in_progress') throw error
      patience.moved()
      await pause(COMPLETING_PAUSE_MS, signal)
    }
  }
}

function isOutdated(error: unknown): boolean {
  if (!(error instanceof TapedeckError)) return false
  return (
    ['checksum_mismatch', 'parts_missing', 'already_completed'].includes(error.code) ||
    (error instanceof InvalidRequestError && error.param.startsWith('parts'))
  )
}

/** The session must be of this very file: its digest was declared when it was created. */
function checkSame(session: Session, { sha256, bytes, part_size }: UploadCheckpoint): void {
  const sameParts = session.upload === undefined || session.upload.part_size === part_size
  if (session.sha256 === sha256 && session.bytes === bytes && sameParts) return
  throw new SourceError(
    'source_changed',
    `session ${session.id} was created for another file (${session.bytes} bytes, SHA-256 ${session.sha256}); upload this one anew`,
  )
}

function urlsOf(session: Session): Map<number, string> {
  const { parts = [], received = [] } = session.upload ?? {}
  return new Map([...parts, ...received].map(({ number, url }) => [number, url]))
}

function readConcurrency(given = DEFAULT_CONCURRENCY): number {
  if (Number.isInteger(given) && given >= 1 && given <= MAX_CONCURRENCY) return given
  throw wrongOption(
    'concurrency',
    `concurrency must be an integer from 1 to ${MAX_CONCURRENCY}; found ${given}`,
  )
}
