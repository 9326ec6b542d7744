import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { before, test } from 'node:test'
import fc from 'fast-check'
import { tempDir } from '../../server/test/embedded/temp-dir.ts'
import { bounded } from '../../server/test/support/bounded.ts'
import { recording, SMALLEST_PART } from '../../server/test/support/client.ts'
import { testClock } from '../../server/test/support/clock.ts'
import { endWithFile } from '../../server/test/support/ending.ts'
import { startProcess } from '../../server/test/support/process.ts'
import { type Service, startService } from '../../server/test/support/service.ts'
import { NotFoundError, type Session, Tapedeck, type UploadOptions } from '../src/index.ts'
import { type Fault, type FaultProxy, httpAnswer, startFaultProxy } from './support/fault-proxy.ts'

// Whatever the link and the service do, an upload arrives in the end, with the right hash.

const file = endWithFile()
const clock = testClock()
let service: Service
let proxy: FaultProxy
let tapedeck: Tapedeck

before(async () => {
  proxy = await startFaultProxy(file)
  service = await startService({ clock, env: { TAPEDECK_UPLOAD_URL: proxy.url } })
  file.after(() => service.close())
  proxy.target = service.url
  // More than there are faults in a row: what comes before the hashing is tried only so often.
  tapedeck = new Tapedeck({ apiKey: service.key, baseUrl: proxy.url, timeoutMs: 5_000, maxRetries: 8 })
})

const bytes = recording(4, 3)
const sha256 = createHash('sha256').update(bytes).digest('hex')

async function upload(more: Partial<UploadOptions> = {}): Promise<Session> {
  const options = { site: 'lab', filename: 'run.mcap', partSize: SMALLEST_PART, ...more }
  const session = await tapedeck.sessions.upload(new Blob([bytes]), options)
  assert.ok(['processing', 'processed', 'failed'].includes(session.status), session.status)
  assert.deepEqual([session.bytes, session.sha256], [bytes.length, sha256])
  return session
}

/** Does this to the first connections for which it is meant, and nothing to all others. */
function spoil(faults: Fault[], isMeant: (first: string) => boolean = () => true): void {
  const left = [...faults]
  proxy.fault = (first) => (isMeant(first) ? (left.shift() ?? 'none') : 'none')
}

/** Connections that were there before the fault was thought of would not meet it. */
function spoilFromNow(faults: Fault[], isMeant?: (first: string) => boolean): void {
  spoil(faults, isMeant)
  proxy.cutAll()
}

const isPart = (first: string) => first.startsWith('PUT /upload/')

test('any sequence of cuts, resets, delays, refusals and half answers', async () => {
  const amount = fc.integer({ min: 1, max: 12_000_000 })
  const fault = fc.oneof(
    fc.record({ cut: amount }),
    fc.record({ reset: amount }),
    fc.record({ truncate: fc.integer({ min: 1, max: 600 }) }),
    fc.record({ delayMs: fc.integer({ min: 1, max: 200 }) }),
    fc
      .constantFrom(500, 502, 503, 429)
      .map((status) => ({ answer: httpAnswer(status, { 'Retry-After': '0' }) })),
  )
  await fc.assert(
    fc.asyncProperty(
      fc.array(fault, { minLength: 1, maxLength: 6 }),
      bounded(15_000, async (faults) => {
        spoilFromNow(faults)
        await upload()
      }),
    ),
    { numRuns: 12 },
  )
})

test('a link that is cut in the middle of a part loses that part alone', async () => {
  spoilFromNow([{ reset: 5_000_000 }], isPart)
  let sentBytes = 0
  await upload({
    concurrency: 1,
    onProgress(now) {
      sentBytes = now.sentBytes
    },
  })
  assert.ok(
    sentBytes > bytes.length && sentBytes <= bytes.length + SMALLEST_PART,
    `${sentBytes} bytes were sent`,
  )
})

test('a link that takes bytes and gives no answer is given up and made anew', async () => {
  const patient = tapedeck
  tapedeck = new Tapedeck({ apiKey: service.key, baseUrl: proxy.url, timeoutMs: 1_000 })
  spoilFromNow(['silence'], isPart)
  await upload()
  tapedeck = patient
})

test('a part that waits for its answer keeps none of the others waiting', async () => {
  const sent: string[] = []
  const second = Promise.withResolvers<void>()
  proxy.fault = (first) => {
    const [, number] = /^PUT \/upload\/[^/]+\/(\d+)/.exec(first) ?? []
    if (number === undefined) return 'none'
    sent.push(number)
    if (number === '2') second.resolve()
    return sent.length === 1 ? 'silence' : 'none'
  }
  proxy.cutAll()
  const uploading = upload({ concurrency: 1 })
  await Promise.race([second.promise, uploading])
  assert.deepEqual(sent, ['1', '2'], 'the first is not given up yet')
  proxy.cutAll()
  await uploading
})

test('a storage that is not there is waited for, and a signal ends the wait', async () => {
  proxy.fault = () => 'none'
  const stop = new AbortController()
  const uploading = upload({
    signal: stop.signal,
    onCheckpoint() {
      // Nobody listens there: every part is refused before a byte of it is taken.
      proxy.close()
      setTimeout(() => stop.abort(new Error('waited long enough')), 1_500)
    },
  })
  await assert.rejects(uploading, /waited long enough/)
  await proxy.listen()
  await upload()
})

test('URLs that expire in the middle are asked for again', async () => {
  proxy.fault = () => 'none'
  let expired = false
  await upload({
    concurrency: 1,
    onProgress({ partsDone }) {
      if (expired || partsDone !== 2) return
      expired = true
      clock.advance(25 * 3600_000)
    },
  })
  assert.ok(expired)
})

test('URLs whose signature is not good any more are asked for again', async () => {
  const error = { type: 'permission', code: 'signature_invalid', message: '', param: '', request_id: 'req_1' }
  const answer = httpAnswer(403, { 'Content-Type': 'application/json' }, JSON.stringify({ error }))
  spoilFromNow([{ answer }], isPart)
  await upload()
})

test('clocks that differ by an hour are of no matter', async () => {
  for (const apartMs of [-3600_000, 7200_000, -3600_000]) {
    clock.advance(apartMs)
    await upload()
  }
})

test('a storm of 429 is waited for', async () => {
  spoilFromNow(
    Array.from({ length: 8 }, () => ({ answer: httpAnswer(429, { 'Retry-After': '0' }) })),
    isPart,
  )
  await upload()
})

test('a completion whose answer is lost is found to have happened', async () => {
  proxy.fault = () => 'none'
  const isCompletion = (first: string) => /^POST \S+\/complete /.test(first)
  let spoiled = false
  const session = await upload({
    onProgress({ phase }) {
      if (spoiled || phase !== 'completing') return
      spoiled = true
      spoilFromNow([{ truncate: 5 }], isCompletion)
    },
  })
  const { data } = await tapedeck.sessions.list({ limit: 1 })
  assert.deepEqual([data[0]?.id, spoiled], [session.id, true])
})

test('a session that is deleted in the middle ends the upload with what happened', async () => {
  proxy.fault = () => 'none'
  let id = ''
  const uploading = upload({
    concurrency: 1,
    onCheckpoint({ session }) {
      id = session
    },
    async onProgress({ partsDone }) {
      if (partsDone === 1) await tapedeck.sessions.delete(id).catch(() => {})
    },
  })
  await assert.rejects(uploading, NotFoundError)
})

test('a service that is killed and started again in the middle', async (t) => {
  const dataDir = tempDir(t)
  const env = { TAPEDECK_UPLOAD_URL: proxy.url }
  const first = await startProcess(t, { dataDir, env })
  proxy.fault = () => 'none'
  proxy.target = first.url
  proxy.cutAll()
  const own = new Tapedeck({ apiKey: first.key ?? '', baseUrl: proxy.url, timeoutMs: 5_000 })
  let restarted: Promise<void> | undefined
  const restart = async () => {
    first.kill('SIGKILL')
    proxy.cutAll()
    await first.exited
    proxy.target = (await startProcess(t, { dataDir, env })).url
  }
  const session = await own.sessions.upload(new Blob([bytes]), {
    site: 'lab',
    filename: 'run.mcap',
    partSize: SMALLEST_PART,
    concurrency: 2,
    onProgress({ partsDone }) {
      if (partsDone === 1) restarted ??= restart()
    },
  })
  await restarted
  assert.ok(restarted)
  assert.equal(session.sha256, sha256)
  assert.notEqual(session.status, 'uploading')
  proxy.target = service.url
})
