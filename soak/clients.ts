import { setTimeout as delay } from 'node:timers/promises'
import { ConnectionError, Tapedeck, TapedeckError } from '../packages/sdk/src/index.ts'
import type { UploadCheckpoint } from '../packages/sdk/src/upload/checkpoint.ts'
import type { Chance } from './chance.ts'
import { makeFile, PART_BYTES } from './files.ts'
import type { Acknowledged, Ledger } from './ledger.ts'

// Clients as they are in the field: they upload by the SDK one recording after the other, look at what there is, and
// delete some of it. An outage they wait out; anything else that goes wrong is a surprise, and no good one.

export type Clients = {
  /** No new uploads; resolves when those under way have come to their end. */
  finish(): Promise<void>
}

type Where = { url: string; key: string }

/** A store on a developer's machine takes eight objects at once. */
const UPLOADERS = 4
const READERS = 2
const PAUSE_MS = 300
const TIMEOUT_MS = 15_000
const DELETE_CHANCE = 0.15
/** Now and then a client follows its recording to the end, so that what waits for the workers stays bounded. */
const FOLLOW_CHANCE = 0.3

export function startClients({ url, key }: Where, chance: Chance, ledger: Ledger): Clients {
  const ending = new AbortController()
  const { signal } = ending
  const tapedeck = new Tapedeck({ apiKey: key, baseUrl: url, timeoutMs: TIMEOUT_MS })

  /** Until it is done, however often it is interrupted; undefined where it met a surprise. */
  async function insist<T>(what: string, act: () => Promise<T>): Promise<T | undefined> {
    for (;;) {
      try {
        return await act()
      } catch (error) {
        if (!isOutage(error)) {
          ledger.surprises.push(`${what}: ${error instanceof Error ? error.message : String(error)}`)
          return undefined
        }
        ledger.interruptions++
        await delay(PAUSE_MS)
      }
    }
  }

  async function upload(own: Chance): Promise<void> {
    const file = makeFile(own)
    const idempotencyKey = `upload ${own.next()}`
    let checkpoint: UploadCheckpoint | undefined
    const session = await insist(`upload of ${file.bytes.length} bytes`, () =>
      tapedeck.sessions.upload(new Blob([file.bytes]), {
        site: 'soak',
        filename: file.name,
        partSize: PART_BYTES,
        concurrency: 2,
        idempotencyKey,
        ...(checkpoint && { resume: checkpoint }),
        onCheckpoint(made) {
          checkpoint = made
        },
      }),
    )
    if (!session) return
    const { bytes, sha256 } = file
    const acknowledged = { id: session.id, bytes: bytes.length, sha256, deleted: false }
    ledger.sessions.push(acknowledged)
    if (own.next() < FOLLOW_CHANCE) await follow(acknowledged)
  }

  async function follow(session: Acknowledged): Promise<void> {
    await insist(`following ${session.id}`, async () => {
      const done = await tapedeck.sessions.wait(session.id, { signal }).catch((error: unknown) => {
        if (signal.aborted || (session.deleted && isMissing(error))) return undefined
        throw error
      })
      return done?.id
    })
  }

  async function remove(own: Chance): Promise<void> {
    const kept = ledger.sessions.filter(({ deleted }) => !deleted)
    if (kept.length < UPLOADERS) return
    const victim = own.pick(kept)
    // From now on it is no loss.
    victim.deleted = true
    await insist(`deletion of ${victim.id}`, () => tapedeck.sessions.delete(victim.id))
  }

  async function read(own: Chance): Promise<void> {
    const page = await insist('list', async () => tapedeck.sessions.list({ limit: own.between(1, 50) }))
    if (page) ledger.lists++
    const kept = ledger.sessions.filter(({ deleted }) => !deleted)
    if (kept.length === 0) return
    const wanted = own.pick(kept)
    const missing = await insist(`look at ${wanted.id}`, () =>
      tapedeck.sessions.retrieve(wanted.id).then(
        () => false,
        (error: unknown) => {
          if (isMissing(error)) return true
          throw error
        },
      ),
    )
    if (missing && !wanted.deleted)
      ledger.surprises.push(`session ${wanted.id} was acknowledged and is not there`)
  }

  async function again(own: Chance, act: (own: Chance) => Promise<void>): Promise<void> {
    while (!signal.aborted) await act(own)
  }

  const running = [
    ...Array.from({ length: UPLOADERS }, () =>
      again(chance.fork(), async (own) => {
        await upload(own)
        if (own.next() < DELETE_CHANCE) await remove(own)
      }),
    ),
    ...Array.from({ length: READERS }, () =>
      again(chance.fork(), async (own) => {
        await read(own)
        await delay(PAUSE_MS)
      }),
    ),
  ]
  return {
    async finish() {
      ending.abort()
      await Promise.all(running)
    },
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof TapedeckError && error.status === 404
}

/** What faults of machines and networks may bring about: no answer, or one that asks for another try. */
function isOutage(error: unknown): boolean {
  if (error instanceof ConnectionError) return true
  if (!(error instanceof TapedeckError)) return false
  return error.status === 503 || error.code === 'idempotency_key_in_use'
}
