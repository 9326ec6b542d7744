import { errorOf, TapedeckError } from '../errors.ts'
import type { Platform, Sender } from '../platform.ts'
import type { UploadCheckpoint } from './checkpoint.ts'
import { checkPart } from './digest.ts'
import type { Patience } from './patience.ts'
import { partAt } from './plan.ts'
import type { Progress } from './progress.ts'
import type { Source } from './source.ts'

export type Sending = {
  platform: Platform
  sender: Sender
  source: Source
  checkpoint: UploadCheckpoint
  concurrency: number
  signal: AbortSignal
  silenceMs: number
  progress: Progress
  patience: Patience
  /** Asks the service for URLs that are valid now. */
  freshUrls(): Promise<Map<number, string>>
}

/** Thrown to no user: the session takes no more parts, because somebody else has completed it. */
export class UploadClosed extends Error {}

/**
 * Sends the parts, several at once, each until it has arrived. Answers with their ETags. A part that waits for its answer,
 * because the service makes it durable, leaves its place to the next: as many again may wait so.
 */
export async function sendParts(
  sending: Sending,
  numbers: number[],
  urls: Map<number, string>,
): Promise<Map<number, string>> {
  const etags = new Map<number, string>()
  const waiting = [...numbers]
  const stop = new AbortController()
  const signal = AbortSignal.any([sending.signal, stop.signal])
  const links = openLinks(urls, sending.freshUrls)
  const takePlace = openPlaces(sending.concurrency)

  async function work(): Promise<void> {
    for (let number = waiting.shift(); number !== undefined; number = waiting.shift()) {
      etags.set(number, await sendPart({ ...sending, signal, takePlace }, number, links))
    }
  }

  const workers = Array.from({ length: Math.min(2 * sending.concurrency, waiting.length) }, work)
  try {
    await Promise.all(workers)
  } catch (error) {
    stop.abort(error)
    await Promise.allSettled(workers)
    sending.signal.throwIfAborted()
    throw error
  }
  return etags
}

/** Too old, or signed with a secret that the service has changed since. */
const STALE_URL = new Set(['upload_url_expired', 'signature_invalid'])

async function sendPart(sending: Placed, number: number, links: Links): Promise<string> {
  const { progress, patience, checkpoint } = sending
  const { bytes, part_size } = checkpoint
  const part = partAt(number, bytes, part_size)
  for (let failures = 0; ; failures++) {
    const link = links.of(number)
    try {
      const etag = await put(sending, part, link.url)
      patience.moved()
      progress.arrived(number, part.length)
      return etag
    } catch (error) {
      progress.lost(number)
      const { code } = error instanceof TapedeckError ? error : { code: '' }
      if (code === 'upload_closed') throw new UploadClosed()
      if (STALE_URL.has(code) && failures < 10) await patience.untilDone(() => links.renew(link.version))
      // Changed on its way, or read differently from what was hashed: the source tells.
      else if (code === 'part_checksum_mismatch' && failures < 10)
        await checkPart(sending.platform, sending.source, part, checkpoint.parts[number - 1] ?? '')
      else await patience.afterFailure(error, failures)
    }
  }
}

async function put(sending: Placed, part: ReturnType<typeof partAt>, url: string): Promise<string> {
  const { sender, source, checkpoint, signal, silenceMs, progress, patience } = sending
  const digest = checkpoint.parts[part.number - 1] ?? ''
  const leavePlace = await sending.takePlace()
  const answer = await sender
    .put({
      url,
      headers: { 'x-amz-checksum-sha256': hexToBase64(digest) },
      source,
      offset: part.offset,
      length: part.length,
      signal,
      silenceMs,
      onSent(bytes) {
        patience.moved()
        progress.sent(part.number, bytes)
      },
      onAllSent: leavePlace,
    })
    .finally(leavePlace)
  if (answer.status !== 200) throw errorOf(answer, new URL(url).origin)
  // Browsers hide it where the storage does not expose it; it is the digest that was sent.
  return answer.etag ?? `"${digest}"`
}

function hexToBase64(hex: string): string {
  return btoa(hex.replaceAll(/../g, (pair) => String.fromCharCode(Number.parseInt(pair, 16))))
}

/** With a place among those that are sent at once. */
type Placed = Sending & { takePlace: TakePlace }
/** Resolves when there is one; returns how it is left, once or more often. */
type TakePlace = () => Promise<() => void>

function openPlaces(count: number): TakePlace {
  let free = count
  const waiting: (() => void)[] = []
  return async () => {
    if (free > 0) free--
    else await new Promise<void>((resolve) => waiting.push(resolve))
    let taken = true
    return () => {
      if (!taken) return
      taken = false
      const next = waiting.shift()
      if (next) next()
      else free++
    }
  }
}

type Links = {
  of(number: number): { url: string; version: number }
  /** Fresh URLs for all parts, asked for once by however many found theirs expired. */
  renew(version: number): Promise<void>
}

function openLinks(first: Map<number, string>, freshUrls: () => Promise<Map<number, string>>): Links {
  let urls = first
  let version = 0
  let renewing: Promise<void> | undefined

  async function ask(): Promise<void> {
    urls = await freshUrls()
    version++
  }

  return {
    of(number) {
      const url = urls.get(number)
      if (url === undefined) throw new UploadClosed()
      return { url, version }
    },
    async renew(of) {
      if (of !== version) return
      renewing ??= ask().finally(() => {
        renewing = undefined
      })
      await renewing
    },
  }
}
