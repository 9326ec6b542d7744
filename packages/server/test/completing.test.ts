import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { link, open, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { promisify } from 'node:util'
import type { Session } from '@tapedeck/contract'
import { sql } from 'kysely'
import { setPaused } from '../src/operate/gate.ts'
import { call, complete, putPart, recording, uploadAll, urlOf } from './support/client.ts'
import { partFiles } from './support/disk.ts'
import { holding, untilBlocked } from './support/hold.ts'
import { head, openRaw } from './support/raw.ts'
import { assertRefused, errorOf } from './support/refusal.ts'
import { type Service, startService } from './support/service.ts'
import { until } from './support/until.ts'

// Complete in the middle: two at once, a client that leaves, parts and sessions that change under it.

let service: Service
before(async () => {
  service = await startService()
  await setPaused(service.database.db, true)
})
after(() => service.close())

test('of many completes at once exactly one succeeds and the others are conflicts', async () => {
  const { session, parts } = await uploadAll(service, recording(2))
  const answers = await Promise.all(Array.from({ length: 8 }, () => complete(service, session.id, parts)))
  const [winner, ...others] = answers.toSorted((a, b) => a.status - b.status)
  assert.equal(winner?.status, 200)
  for (const answer of others) {
    assert.equal(answer.status, 409)
    assert.match(errorOf(answer).code ?? '', /^(completion_in_progress|already_completed)$/)
  }
  assert.equal((await retrieve(session.id)).status, 'uploaded')
})

test('while one complete verifies, another is a conflict', async () => {
  const { session, parts } = await uploadAll(service, recording(2, 2))
  await service.restart()
  const stalled = await stall(session.id, 2)
  const first = complete(service, session.id, parts)
  await stalled.untilReached()
  const second = await complete(service, session.id, parts)
  await stalled.goOn(first)
  assertRefused(second, 409, 'completion_in_progress')
})

test('a part sent again while its file is verified makes the completion wrong on that ETag', async () => {
  const bytes = recording(2, 3)
  const { session, parts } = await uploadAll(service, bytes)
  await service.restart()
  const stalled = await stall(session.id, 2)
  const completing = complete(service, session.id, parts)
  await stalled.untilReached()
  const { upload } = await retrieve(session.id)
  assert.equal((await putPart(upload?.received[1]?.url ?? '', recording(1, 4))).status, 200)
  assertRefused(await stalled.goOn(completing), 400, 'parameter_invalid', 'parts[1].etag')
  assert.equal((await retrieve(session.id)).status, 'uploading')
})

test('a part sent again after its file was verified makes the completion wrong on that ETag', async () => {
  const { session, parts } = await uploadAll(service, recording(2, 13))
  // The claim passes this lock, the end of the completion does not.
  const lock = sql`select from sessions where id = ${session.id} for key share`
  const { completing } = await holding(service.database.db, lock, async () => {
    const completing = complete(service, session.id, parts)
    await untilBlocked(service.database.db, 'select "status"%from "sessions"%for update')
    assert.equal((await putPart(urlOf(session, 2), recording(1, 14))).status, 200)
    return { completing }
  })
  assertRefused(await completing, 400, 'parameter_invalid', 'parts[1].etag')
  assert.equal((await retrieve(session.id)).status, 'uploading')
})

test('a part sent again while a file of one part is completed makes the completion wrong on its ETag', async () => {
  const { session, parts } = await uploadAll(service, recording(1, 15))
  const gate = sql`select from processing_gate for update`
  const { completing } = await holding(service.database.db, gate, async () => {
    const completing = complete(service, session.id, parts)
    await untilBlocked(service.database.db, 'processing_gate')
    assert.equal((await putPart(urlOf(session), recording(1, 16))).status, 200)
    return { completing }
  })
  assertRefused(await completing, 400, 'parameter_invalid', 'parts[0].etag')
  assert.equal((await retrieve(session.id)).status, 'uploading')
})

test('of many completes of a file of one part exactly one succeeds and the others are conflicts', async () => {
  const { session, parts } = await uploadAll(service, recording(1, 17))
  const answers = await Promise.all(Array.from({ length: 8 }, () => complete(service, session.id, parts)))
  const codes = answers.map((answer) => (answer.status === 200 ? 'completed' : errorOf(answer).code)).sort()
  assert.deepEqual(codes, [...Array(7).fill('already_completed'), 'completed'])
})

test('a session deleted while its file is verified is not found by the completion', async () => {
  const { session, parts } = await uploadAll(service, recording(2, 5))
  await service.restart()
  const stalled = await stall(session.id, 2)
  const completing = complete(service, session.id, parts)
  await stalled.untilReached()
  const removed = await call(service.url, 'DELETE', `/v1/sessions/${session.id}`, { key: service.key })
  assert.equal(removed.status, 200)
  assertRefused(await stalled.goOn(completing), 404, 'session_not_found')
})

test('a session of one part deleted while it is completed is not found by the completion', async () => {
  const { session, parts } = await uploadAll(service, recording(1, 18))
  const gate = sql`select from processing_gate for update`
  const { completing } = await holding(service.database.db, gate, async () => {
    const completing = complete(service, session.id, parts)
    await untilBlocked(service.database.db, 'processing_gate')
    const removed = await call(service.url, 'DELETE', `/v1/sessions/${session.id}`, { key: service.key })
    assert.equal(removed.status, 200)
    return { completing }
  })
  assertRefused(await completing, 404, 'session_not_found')
})

test('a completion that could not read its parts can be tried again', async () => {
  const { session, parts } = await uploadAll(service, recording(2, 6))
  await service.restart()
  const stalled = await stall(session.id, 2)
  const failing = complete(service, session.id, parts)
  await stalled.untilReached()
  assert.equal((await stalled.goOn(failing)).status, 500)
  await stalled.putBack()
  assert.equal((await complete(service, session.id, parts)).status, 200)
})

test('a client that hangs up does not stop its completion', async () => {
  const { session, parts } = await uploadAll(service, recording(1, 7))
  const body = JSON.stringify({ parts })
  await holding(
    service.database.db,
    sql`select from sessions where id = ${session.id} for update`,
    async () => {
      const raw = await openRaw(service.url)
      const request = head('POST', `${service.url}/v1/sessions/${session.id}/complete`, {
        Authorization: `Bearer ${service.key}`,
        'Content-Type': 'application/json',
        'Content-Length': body.length,
      })
      await raw.send(request + body)
      await untilBlocked(service.database.db, 'update "sessions" set "completing_node"')
      raw.hangUp()
      await raw.closed
      await call(service.url, 'GET', '/healthz')
    },
  )
  await until('it has completed', async () => (await retrieve(session.id)).status === 'uploaded')
})

test('a completion claimed by a node that is alive is in progress', async () => {
  const { session, parts } = await uploadAll(service, recording(2, 8))
  await claimFor(session.id, await makeNode(new Date(Date.now() + 3600_000)))
  assertRefused(await complete(service, session.id, parts), 409, 'completion_in_progress')
})

test('a completion claimed by a node that is gone is taken over', async () => {
  const { session, parts } = await uploadAll(service, recording(2, 9))
  await claimFor(session.id, 999_999)
  assert.equal((await complete(service, session.id, parts)).status, 200)
})

test('a completion claimed by a node not seen for a while is taken over', async () => {
  const { session, parts } = await uploadAll(service, recording(2, 10))
  await claimFor(session.id, await makeNode(new Date(Date.now() - 3600_000)))
  assert.equal((await complete(service, session.id, parts)).status, 200)
})

test('a part that is recorded after the completion has begun to finish is refused', async () => {
  const { session, parts } = await uploadAll(service, recording(2, 11))
  const url = urlOf(session, 2)
  const [completed, late] = await holding(
    service.database.db,
    sql`select from processing_gate for update`,
    async () => {
      const completing = complete(service, session.id, parts)
      await untilBlocked(service.database.db, 'processing_gate')
      const sending = putPart(url, recording(1, 12))
      await untilBlocked(service.database.db, 'from sessions where id%for share')
      return [completing, sending] as const
    },
  ).then((both) => Promise.all(both))
  assert.equal(completed.status, 200)
  assertRefused(late, 409, 'upload_closed')
})

test('a part that is forgotten while it is sent again is recorded', async () => {
  const { session, parts } = await uploadAll(service, recording(1, 19))
  const { db } = service.database
  const { sending } = await db.transaction().execute(async (trx) => {
    await sql`select from parts where session_id = ${session.id} for update`.execute(trx)
    const sending = putPart(urlOf(session), recording(1, 19))
    await untilBlocked(db, 'from "parts"%for update')
    await sql`delete from parts where session_id = ${session.id}`.execute(trx)
    return { sending }
  })
  assert.equal((await sending).status, 200)
  assert.equal((await complete(service, session.id, parts)).status, 200)
})

/**
 * Puts a named pipe in the place of a part's file: who opens it waits until `goOn`, then cannot read it.
 * Only a service that has not seen the part arrive reads it at all.
 */
async function stall(sessionId: string, number: number) {
  const [file = ''] = await partFiles(service.dataDir, sessionId, number)
  const path = join(service.dataDir, 'recordings', file)
  const [aside, pipe] = [join(service.dataDir, 'aside'), join(service.dataDir, 'pipe')]
  await rename(path, aside)
  await promisify(execFile)('mkfifo', [pipe])
  await link(pipe, path)
  return {
    untilReached: () =>
      until('the completion is claimed', async () => {
        const session = await service.database.db
          .selectFrom('sessions')
          .select('completing_node')
          .where('id', '=', sessionId)
          .executeTakeFirst()
        return session?.completing_node !== null
      }),
    /** Whoever waits at the pipe goes on, and so does whoever comes while `done` is under way. */
    async goOn<T>(done: Promise<T>): Promise<T> {
      const writer = await open(pipe, 'r+')
      try {
        return await done
      } finally {
        await writer.close()
        await rm(pipe)
      }
    },
    putBack: () => rename(aside, path),
  }
}

async function claimFor(id: string, nodeId: number): Promise<void> {
  await service.database.db
    .updateTable('sessions')
    .set({ completing_node: nodeId })
    .where('id', '=', id)
    .execute()
}

async function makeNode(seenAt: Date): Promise<number> {
  const { id } = await service.database.db
    .insertInto('nodes')
    .values({ seen_at: seenAt })
    .returning('id')
    .executeTakeFirstOrThrow()
  return id
}

async function retrieve(id: string): Promise<Session> {
  return (await call<Session>(service.url, 'GET', `/v1/sessions/${id}`, { key: service.key })).body
}
