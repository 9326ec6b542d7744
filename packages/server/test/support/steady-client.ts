import assert from 'node:assert/strict'
import type { CreatedSession, ErrorBody, Session, SessionList } from '@tapedeck/contract'
import { type Answer, call, partsOf, recording, SMALLEST_PART, sha256 } from './client.ts'

// A client that carries an upload to its end through any number of outages, and remembers what the service
// has acknowledged, so that a test can hold the service to it.

/** What one client wants and what it was told. */
export type Upload = {
  file: File
  idempotencyKey: string
  /** Whether `complete` carries a key too. Without one a repeated `complete` may find that it had happened. */
  completesWithKey: boolean
  acknowledged: { id?: string; etags: Map<number, string>; completed: boolean }
}

export type Where = { url: string; key: string }

export type Client = {
  /** Creates the session of its key, or gets the one that there is. */
  create(upload: Upload): Promise<string>
  /** From create to complete; ends when all of it is acknowledged. */
  carry(upload: Upload): Promise<void>
  /** Compares what is there with all that was acknowledged before it was asked. */
  checkKept(upload: Upload): Promise<void>
}

type Settings = {
  /** Where the service is now; waits while it is away. */
  where: () => Promise<Where>
  /** Whether a request that broke without an answer is an outage like a 503, or a fault. */
  mayBreak: boolean
  /** Whether a node that died may have left a claim behind, which holds for some seconds. */
  mayBeClaimed?: boolean
  /** Ends clients whose test is over. */
  signal: AbortSignal
  onAcknowledged: () => void
  onOutage: (code: string) => void
}

type File = { name: string; bytes: number; sha256: string; parts: Part[] }
type Part = { bytes: Uint8Array<ArrayBuffer>; checksum: string; etag: string }

const OUTAGE_CODES = ['overloaded', 'database_unavailable', 'storage_unavailable']
const CLAIMED_CODES = ['idempotency_key_in_use', 'completion_in_progress']
const ANSWER_WITHIN_MS = 30_000
const OUTAGES_END_WITHIN_MS = 60_000
const PAUSE_MS = 20

/** Noise, of which nothing can be read. */
export function prepareFile(partCount: number, seed: number): File {
  return fileOf('noise.bin', recording(partCount, seed))
}

export function fileOf(name: string, bytes: Uint8Array<ArrayBuffer>): File {
  const parts = partsOf(bytes).map((part) => {
    const digest = sha256(part)
    return { bytes: part, checksum: digest.toString('base64'), etag: `"${digest.toString('hex')}"` }
  })
  return { name, bytes: bytes.length, sha256: sha256(bytes).toString('hex'), parts }
}

export function planUpload(file: File, idempotencyKey: string, completesWithKey: boolean): Upload {
  return {
    file,
    idempotencyKey,
    completesWithKey,
    acknowledged: { etags: new Map(), completed: false },
  }
}

export function steadyClient(settings: Settings): Client {
  const { where, mayBreak, mayBeClaimed = false, signal, onAcknowledged, onOutage } = settings

  /** One request; undefined where it met an outage, which is waited out by asking again. */
  async function attempt<T>(
    send: (where: Where) => Promise<Answer<T | ErrorBody>>,
  ): Promise<Answer<T> | undefined> {
    try {
      const answer = await send(await where())
      const code = errorCode(answer.body)
      if (mayBeClaimed && code !== undefined && CLAIMED_CODES.includes(code)) return undefined
      if (code === undefined || !OUTAGE_CODES.includes(code)) return answer as Answer<T>
      assert.equal(answer.status, 503)
      assert.match(answer.headers.get('retry-after') ?? '', /^\d+$/)
      onOutage(code)
    } catch (error) {
      // fetch gives a TypeError for a connection that broke and for nothing else here.
      if (!mayBreak || !(error instanceof TypeError)) throw error
      onOutage('broken')
    }
    return undefined
  }

  async function insist<T>(send: (where: Where) => Promise<Answer<T | ErrorBody>>): Promise<Answer<T>> {
    const deadlineMs = Date.now() + OUTAGES_END_WITHIN_MS
    while (Date.now() < deadlineMs) {
      signal.throwIfAborted()
      const answer = await attempt(send)
      if (answer) return answer
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
    }
    throw new Error(`the service gives no answer for ${OUTAGES_END_WITHIN_MS} ms`)
  }

  async function create({ file, idempotencyKey, acknowledged }: Upload): Promise<string> {
    const { status, body } = await insist(({ url, key }) => {
      const input = { site: 'lab', filename: file.name, bytes: file.bytes, sha256: file.sha256 }
      return call<CreatedSession>(url, 'POST', '/v1/sessions', {
        key,
        body: { ...input, part_size: SMALLEST_PART },
        headers: { 'Idempotency-Key': idempotencyKey },
      })
    })
    assert.equal(status, 201, JSON.stringify(body))
    assert.equal(body.id, acknowledged.id ?? body.id, 'a key gives one session')
    acknowledged.id = body.id
    onAcknowledged()
    return body.id
  }

  async function retrieve(id: string): Promise<Session> {
    const { status, body } = await insist(({ url, key }) =>
      call<Session>(url, 'GET', `/v1/sessions/${id}`, { key }),
    )
    assert.equal(status, 200, JSON.stringify(body))
    return body
  }

  async function put(part: Part, number: number, signedUrl: string, { acknowledged }: Upload): Promise<void> {
    const answer = await attempt(async ({ url }) => {
      const { pathname, search } = new URL(signedUrl)
      const response = await fetch(`${url}${pathname}${search}`, {
        method: 'PUT',
        headers: { 'x-amz-checksum-sha256': part.checksum },
        body: part.bytes,
        signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
      })
      const text = await response.text()
      const { status, headers } = response
      return { status, headers, body: text === '' ? undefined : JSON.parse(text) }
    })
    if (!answer) return
    assert.equal(answer.status, 200, JSON.stringify(answer.body))
    assert.equal(answer.headers.get('etag'), part.etag)
    acknowledged.etags.set(number, part.etag)
    onAcknowledged()
  }

  /** Sends what is missing, all at once, until nothing is. */
  async function sendParts(id: string, upload: Upload): Promise<void> {
    for (;;) {
      signal.throwIfAborted()
      const missing = (await retrieve(id)).upload?.parts ?? []
      if (missing.length === 0) return
      await Promise.all(
        missing.map(async ({ number, url }) => {
          const part = upload.file.parts[number - 1]
          assert.ok(part, `part ${number} is asked for`)
          await put(part, number, url, upload)
        }),
      )
    }
  }

  async function complete(id: string, { file, acknowledged, ...upload }: Upload): Promise<void> {
    let attempts = 0
    const { status, body } = await insist(({ url, key }) => {
      attempts++
      return call<Session>(url, 'POST', `/v1/sessions/${id}/complete`, {
        key,
        body: { parts: file.parts.map(({ etag }, index) => ({ number: index + 1, etag })) },
        ...(upload.completesWithKey && {
          headers: { 'Idempotency-Key': `complete ${upload.idempotencyKey}` },
        }),
      })
    })
    const hadHappened =
      !upload.completesWithKey && attempts > 1 && errorCode(body) === 'already_completed' && status === 409
    if (!hadHappened) assert.equal(status, 200, JSON.stringify(body))
    acknowledged.completed = true
    onAcknowledged()
  }

  return {
    create,

    async carry(upload) {
      const id = await create(upload)
      await sendParts(id, upload)
      await complete(id, upload)
    },

    async checkKept({ acknowledged }) {
      const { id, completed } = acknowledged
      if (id === undefined) return
      const etags = [...acknowledged.etags]
      const session = await retrieve(id)
      if (session.status !== 'uploading') return
      assert.ok(!completed, `session ${id} forgot that it was completed`)
      const received = new Map(session.upload?.received.map(({ number, etag }) => [number, etag]))
      for (const [number, etag] of etags) {
        assert.equal(received.get(number), etag, `part ${number} of ${id} was acknowledged`)
      }
    },
  }
}

/** Every session that is there, whatever its state. */
export async function listAll({ url, key }: Where): Promise<Session[]> {
  const all: Session[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const query: string = cursor === '' ? '' : `&cursor=${cursor}`
    const { body }: Answer<SessionList> = await call(url, 'GET', `/v1/sessions?limit=500${query}`, { key })
    all.push(...body.data)
    cursor = body.next_cursor
  }
  return all
}

function errorCode(body: unknown): string | undefined {
  if (typeof body !== 'object' || body === null || !('error' in body)) return undefined
  const { error } = body as ErrorBody
  return error.code
}
