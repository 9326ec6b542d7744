import { setTimeout as delay } from 'node:timers/promises'
import { createClient } from '@redis/client'
import { RateLimiterRedis } from 'rate-limiter-flexible'
import { type Counting, look, type Spent, spend } from './counting.ts'

// Counts of all nodes together, in Redis. Nothing depends on it: while it does not answer, each node counts its share.

type Deps = {
  url: string
  /** Counts while Redis is away. */
  share: Counting
  onAway: (reason: string) => void
  onBack: () => void
}

export type SharedCounting = Counting & {
  isShared(): boolean
  close(): void
}

const CONNECT_MS = 2_000
const RECONNECT_MS = 500
/** A request does not wait longer than this, and after such a silence none waits for a while. */
const ANSWER_MS = 250
const REST_MS = 1_000
/** A connection that says nothing to a question of every two seconds is given up. */
const PING_MS = 2_000
const SILENT_MS = 5_000
const MAX_UNANSWERED = 10_000

export async function openSharedCounting({ url, share, onAway, onBack }: Deps): Promise<SharedCounting> {
  const client = createClient({
    url,
    disableOfflineQueue: true,
    commandsQueueMaxLength: MAX_UNANSWERED,
    pingInterval: PING_MS,
    socket: {
      connectTimeout: CONNECT_MS,
      socketTimeout: SILENT_MS,
      reconnectStrategy: () => RECONNECT_MS,
    },
  })
  let shared = true
  let restUntilMs = 0

  function away(error: unknown): void {
    restUntilMs = performance.now() + REST_MS
    if (!shared) return
    shared = false
    onAway(error instanceof Error ? error.message : String(error))
  }

  function back(): void {
    if (shared) return
    shared = true
    onBack()
  }

  async function ask(inRedis: () => Promise<Spent>, here: () => Promise<Spent>): Promise<Spent> {
    if (performance.now() < restUntilMs) return here()
    try {
      const spent = await inTime(inRedis())
      back()
      return spent
    } catch (error) {
      away(error)
      return here()
    }
  }

  client.on('error', away)
  const connected = client.connect()
  connected.catch(away)
  // Whoever asks first shall be counted with all others, if Redis is there.
  await Promise.race([connected, delay(CONNECT_MS, undefined, { ref: false })]).catch(() => {})
  return {
    open({ name, points, windowS }) {
      const limiter = new RateLimiterRedis({
        storeClient: client,
        useRedisPackage: true,
        keyPrefix: `tapedeck ${name}`,
        points,
        duration: windowS,
      })
      const own = share.open({ name, points, windowS })
      return {
        spend: (bucket) =>
          ask(
            () => spend(limiter, bucket),
            () => own.spend(bucket),
          ),
        look: (bucket) =>
          ask(
            () => look(limiter, bucket, windowS),
            () => own.look(bucket),
          ),
      }
    },
    isShared: () => shared,
    close() {
      if (client.isOpen) client.destroy()
    },
  }
}

async function inTime<T>(answer: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${ANSWER_MS} ms`)), ANSWER_MS)
  })
  try {
    return await Promise.race([answer, late])
  } finally {
    clearTimeout(timer)
  }
}
