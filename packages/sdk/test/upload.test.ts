import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { chmod, mkdtemp, open, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { before, describe, test } from 'node:test'
import { partsOf, putPart, recording, SMALLEST_PART } from '../../server/test/support/client.ts'
import { endWithFile } from '../../server/test/support/ending.ts'
import { type Service, startService } from '../../server/test/support/service.ts'
import {
  InvalidRequestError,
  NotFoundError,
  PermissionError,
  type Session,
  SourceError,
  Tapedeck,
  type UploadCheckpoint,
  type UploadProgress,
} from '../src/index.ts'

// Uploads from everything that can be uploaded, and what becomes of sources that are not what they should be.

const file = endWithFile()
let service: Service
let tapedeck: Tapedeck
let dir: string

before(async () => {
  service = await startService()
  file.after(() => service.close())
  tapedeck = new Tapedeck({ apiKey: service.key, baseUrl: service.url })
  dir = await mkdtemp(join(tmpdir(), 'tapedeck-sdk-'))
  file.after(() => rm(dir, { recursive: true, force: true }))
})

const bytes = recording(3)
const options = { site: 'lab', filename: 'run.mcap', partSize: SMALLEST_PART }

async function fileOf(name: string, content: Uint8Array = bytes): Promise<string> {
  const path = join(dir, name)
  await writeFile(path, content)
  return path
}

/** The service has verified the digest; the session must be of these bytes. */
function assertArrived(session: Session, content: Uint8Array = bytes): void {
  assert.ok(['processing', 'processed', 'failed'].includes(session.status), session.status)
  assert.deepEqual([session.bytes, session.sha256], [content.length, sha256(content)])
}

const sha256 = (content: Uint8Array) => createHash('sha256').update(content).digest('hex')

describe('sources', () => {
  test('a file, by its path, under its own name', async () => {
    const { filename: _, ...rest } = options
    const session = await tapedeck.sessions.upload(await fileOf('first.mcap'), {
      ...rest,
      device: 'amr-07',
      notes: 'wheel change',
    })
    assertArrived(session)
    assert.deepEqual(
      [session.filename, session.device, session.notes],
      ['first.mcap', 'amr-07', 'wheel change'],
    )
  })

  test('a Blob and a File', async () => {
    assertArrived(await tapedeck.sessions.upload(new Blob([bytes]), options))
    const named = await tapedeck.sessions.upload(new File([bytes], 'own.bag'), { site: 'lab' })
    assertArrived(named)
    assert.equal(named.filename, 'own.bag')
  })

  test('anything that can be read at a place, in pieces of its own choice', async () => {
    const source = {
      size: bytes.length,
      read: async (offset: number, length: number) =>
        bytes.subarray(offset, offset + Math.min(length, 70_001)),
    }
    assertArrived(await tapedeck.sessions.upload(source, options))
  })

  test('a source without a name needs one', async () => {
    const { filename: _, ...rest } = options
    await assertWrong(tapedeck.sessions.upload(new Blob([bytes]), rest), 'filename')
  })

  test('the fetch of the user sends everything, parts included', async () => {
    const sent: string[] = []
    const own = new Tapedeck({
      apiKey: service.key,
      baseUrl: service.url,
      fetch(url, init) {
        sent.push(`${init.method} ${new URL(url).pathname.split('/')[1]}`)
        return fetch(url, init)
      },
    })
    assertArrived(await own.sessions.upload(await fileOf('own.mcap'), options))
    assert.equal(sent.filter((line) => line === 'PUT upload').length, 3)
    assertArrived(await own.sessions.upload(new Blob([bytes]), options))
  })

  test('hashing in threads finds the same digests, parts of any size', async () => {
    const large = recording(5, 7)
    assertArrived(
      await tapedeck.sessions.upload(await fileOf('large.mcap', large), { ...options, partSize: 8_000_001 }),
      large,
    )
  })
})

describe('progress', () => {
  test('it goes from hashing over uploading to completing, and never further than the whole', async () => {
    const told: UploadProgress[] = []
    await tapedeck.sessions.upload(await fileOf('told.mcap'), {
      ...options,
      onProgress: (now) => told.push(now),
    })
    assert.deepEqual([...new Set(told.map(({ phase }) => phase))], ['hashing', 'uploading', 'completing'])
    assert.ok(told.every((now) => now.bytes <= now.totalBytes && now.totalBytes === bytes.length))
    const last = told.at(-1)
    assert.deepEqual([last?.bytes, last?.sentBytes, last?.partsDone], [bytes.length, bytes.length, 3])
  })

  test('wait follows a session until it is done', async () => {
    const { id } = await tapedeck.sessions.upload(new Blob([bytes]), { ...options, filename: 'what.xyz' })
    const seen: string[] = []
    const done = await tapedeck.sessions.wait(id, { onProgress: ({ status }) => seen.push(status) })
    assert.equal(done.status, 'failed')
    assert.equal(seen.at(-1), 'failed')
  })
})

describe('going on', () => {
  test('with a checkpoint only what is missing is sent, and nothing is hashed again', async () => {
    const path = await fileOf('kept.mcap')
    const checkpoint = await interruptedAfterCreation(path)
    await sendOne(checkpoint, 2)
    const told: UploadProgress[] = []
    const session = await tapedeck.sessions.upload(path, {
      ...options,
      resume: JSON.parse(JSON.stringify(checkpoint)),
      onProgress: (now) => told.push(now),
    })
    assertArrived(session)
    assert.equal(session.id, checkpoint.session)
    assert.ok(told.every(({ phase }) => phase !== 'hashing'))
    assert.equal(told.at(-1)?.sentBytes, bytes.length - SMALLEST_PART)
  })

  test('with the id of a session alone', async () => {
    const path = await fileOf('by-id.mcap')
    const { session: resume } = await interruptedAfterCreation(path)
    assert.equal((await tapedeck.sessions.upload(path, { ...options, resume })).id, resume)
    assertArrived(await tapedeck.sessions.upload(path, { ...options, resume }))
  })

  test('a part that the service has otherwise is sent again', async () => {
    const path = await fileOf('other.mcap')
    const checkpoint = await interruptedAfterCreation(path)
    const { upload } = await tapedeck.sessions.retrieve(checkpoint.session)
    await putPart(upload?.parts[0]?.url ?? '', recording(2, 99).slice(0, SMALLEST_PART))
    assertArrived(await tapedeck.sessions.upload(path, { ...options, resume: checkpoint }))
  })

  test('another file is not mixed into a session', async () => {
    const checkpoint = await interruptedAfterCreation(await fileOf('one.mcap'))
    const other = await fileOf('two.mcap', recording(3, 5))
    await assertSource(
      tapedeck.sessions.upload(other, { ...options, resume: checkpoint.session }),
      'source_changed',
    )
    await assertSource(tapedeck.sessions.upload(other, { ...options, resume: checkpoint }), 'source_changed')
    const longer = await fileOf('three.mcap', recording(4))
    await assertSource(tapedeck.sessions.upload(longer, { ...options, resume: checkpoint }), 'source_changed')
  })

  test('a checkpoint that was tampered with, and a session that is gone, are told', async () => {
    const path = await fileOf('gone.mcap')
    const checkpoint = await interruptedAfterCreation(path)
    await assertWrong(
      tapedeck.sessions.upload(path, { ...options, resume: { ...checkpoint, parts: ['x'] } }),
      'resume',
    )
    await tapedeck.sessions.delete(checkpoint.session)
    await assert.rejects(tapedeck.sessions.upload(path, { ...options, resume: checkpoint }), NotFoundError)
  })

  test('two uploads of one file at once end in one session, with one idempotency key', async () => {
    const path = await fileOf('twice.mcap')
    const both = await Promise.all([
      tapedeck.sessions.upload(path, { ...options, idempotencyKey: 'twice' }),
      tapedeck.sessions.upload(path, { ...options, idempotencyKey: 'twice' }),
    ])
    assert.equal(both[0].id, both[1].id)
    for (const session of both) assertArrived(session)
  })

  test('a signal ends an upload at any moment', async () => {
    const path = await fileOf('stopped.mcap')
    for (const phase of ['hashing', 'uploading'] as const) {
      const stop = new AbortController()
      const uploading = tapedeck.sessions.upload(path, {
        ...options,
        signal: stop.signal,
        onProgress: (now) => now.phase === phase && stop.abort(new Error(`stopped while ${phase}`)),
      })
      await assert.rejects(uploading, new RegExp(`stopped while ${phase}`))
    }
    await assert.rejects(tapedeck.sessions.upload(path, { ...options, signal: AbortSignal.abort() }))
  })
})

describe('what cannot be uploaded', () => {
  test('missing, empty, a folder, not to be read: each is told', async () => {
    await assertSource(
      tapedeck.sessions.upload(join(dir, 'nowhere'), options),
      'source_unreadable',
      /no such file/,
    )
    await assertSource(tapedeck.sessions.upload(dir, options), 'source_unreadable', /is a folder/)
    await assertSource(
      tapedeck.sessions.upload(await fileOf('empty', new Uint8Array()), options),
      'source_empty',
      /empty is empty/,
    )
    await assertSource(tapedeck.sessions.upload(new Blob([]), options), 'source_empty')
    if (process.getuid?.() === 0) return
    const secret = await fileOf('secret')
    await chmod(secret, 0)
    await assertSource(tapedeck.sessions.upload(secret, options), 'source_unreadable', /may not be read/)
  })

  const changes: [string, RegExp, (path: string) => Promise<unknown>][] = [
    [
      'grows',
      /still being written: it grew from 16001000 to 16001001 bytes/,
      (path) => writeFile(path, 'x', { flag: 'a' }),
    ],
    ['shrinks', /shrank from 16001000 to 12000000 bytes/, (path) => truncate(path, 12_000_000)],
    ['is written to', /was written to|is not what was hashed/, (path) => overwrite(path, 9_000_000)],
  ]
  for (const [what, says, change] of changes) {
    for (const phase of ['hashing', 'uploading'] as const) {
      test(`a file that ${what} while ${phase}: one line, and no corrupt session`, async () => {
        const path = await fileOf(`${what}-${phase}.mcap`)
        let changed: Promise<unknown> | undefined
        const uploading = tapedeck.sessions.upload(path, {
          ...options,
          concurrency: 1,
          onProgress(now) {
            if (now.phase === phase) changed ??= change(path)
          },
        })
        await assertSource(uploading, 'source_changed', says)
        await changed
      })
    }
  }

  test('options out of range are named before anything is hashed', async () => {
    const path = await fileOf('options.mcap')
    await assertWrong(tapedeck.sessions.upload(path, { ...options, partSize: 7_999_999 }), 'partSize')
    await assertWrong(tapedeck.sessions.upload(path, { ...options, concurrency: 0 }), 'concurrency')
    let hashed = 0
    const onProgress = () => hashed++
    await assertWrong(tapedeck.sessions.upload(path, { ...options, site: '', onProgress }), 'site')
    const apiKey = await service.makeKey({ permissions: ['read'] })
    const reader = new Tapedeck({ apiKey, baseUrl: service.url })
    await assert.rejects(reader.sessions.upload(path, { ...options, onProgress }), PermissionError)
    assert.equal(hashed, 0)
  })
})

/** An upload that was stopped as soon as its session was there. */
async function interruptedAfterCreation(path: string): Promise<UploadCheckpoint> {
  let kept: UploadCheckpoint | undefined
  const stopped = tapedeck.sessions.upload(path, {
    ...options,
    onCheckpoint(checkpoint) {
      kept = checkpoint
      throw new Error('stopped')
    },
  })
  await assert.rejects(stopped, /stopped/)
  assert.ok(kept)
  return kept
}

async function sendOne({ session, part_size }: UploadCheckpoint, number: number): Promise<void> {
  const { upload } = await tapedeck.sessions.retrieve(session)
  const url = upload?.parts.find((part) => part.number === number)?.url ?? ''
  assert.equal((await putPart(url, partsOf(bytes, part_size)[number - 1] ?? new Uint8Array())).status, 200)
}

async function overwrite(path: string, offset: number): Promise<void> {
  const handle = await open(path, 'r+')
  await handle.write(new Uint8Array(1000), 0, 1000, offset)
  await handle.close()
}

async function assertSource(uploading: Promise<unknown>, code: string, says = /./): Promise<void> {
  await assert.rejects(uploading, (error) => {
    assert.ok(error instanceof SourceError, String(error))
    assert.equal(error.code, code, error.message)
    assert.match(error.message, says)
    return true
  })
}

async function assertWrong(uploading: Promise<unknown>, param: string): Promise<void> {
  await assert.rejects(uploading, (error) => error instanceof InvalidRequestError && error.param === param)
}
