// The ceiling of a request: a Fastify route that runs the service's own SQL for it and answers in the same
// shape. No key, no rate limit, no checks, no signing. The SQL is what the service's verbs run, taken from them
// when this starts, so that it is always the same.
import Fastify from 'fastify'
import { Kysely, PostgresDialect } from 'kysely'
import pg from 'pg'
import { plainCommit } from '../../packages/server/src/db/commit.ts'
import { type Db, openDatabase } from '../../packages/server/src/db/database.ts'
import { newId } from '../../packages/server/src/ids.ts'
import { create } from '../../packages/server/src/sessions/create.ts'
import { list } from '../../packages/server/src/sessions/list.ts'
import { retrieve } from '../../packages/server/src/sessions/retrieve.ts'
import { toObject } from '../../packages/server/src/sessions/session.ts'
import { databaseOf } from '../support/service.ts'
import { announce } from './announce.ts'

const [dataDir = '', organisationId = '', someId = '', body = ''] = process.argv.slice(2)
/** As long as a signed link. */
const links = {
  issue: () => ({
    expiresAt: new Date().toISOString(),
    urlOf: (number: number) =>
      `http://127.0.0.1:12345/upload/${someId}/${number}?expires=1234567890&signature=${'x'.repeat(43)}`,
  }),
}
const caller = { kind: 'key' as const, id: '', name: '', organisationId, mayWrite: true }
const connection = await databaseOf(dataDir)
const serviceDatabase = openDatabase(connection)

const retrieving = await statementOf((db) => retrieve({ db, links }, caller, someId))
const listing = await statementOf((db) => list({ db, cursorKeys: [Buffer.alloc(32)] }, caller, {}))
const creating = await statementOf((db) =>
  create({ clock: { now: Date.now }, links }, caller, JSON.parse(body), plainCommit(db)),
)

const pool = new pg.Pool({ ...connection, max: serviceDatabase.pool.options.max })
await serviceDatabase.close()

const app = Fastify()
app.get<{ Params: { id: string } }>('/v1/sessions/:id', async ({ params: { id } }) => {
  const { rows } = await pool.query(retrieving.sql, replaced(retrieving.parameters, someId, id))
  return toSession(rows[0])
})
app.get('/v1/sessions', async () => {
  const { rows } = await pool.query(listing.sql, listing.parameters)
  const { has_more, next_cursor } = listing.answer
  return {
    object: 'list',
    data: rows.slice(0, listing.answer.data.length).map(toSession),
    has_more,
    next_cursor,
  }
})
app.post('/v1/sessions', async (_request, reply) => {
  const id = newId('ses', Date.now())
  await pool.query(creating.sql, replaced(creating.parameters, creating.answer.id, id))
  return reply.code(201).send({ ...creating.answer, id })
})
await app.ready()
announce(app.server)

/** Plain pg gives a bigint as text. */
function toSession(row: Parameters<typeof toObject>[0]) {
  return toObject({ ...row, bytes: Number(row.bytes) })
}

/** The one statement that a verb runs, and its answer. */
async function statementOf<T>(verb: (db: Db) => Promise<T>) {
  const queries: { sql: string; parameters: unknown[] }[] = []
  const db: Db = new Kysely({
    dialect: new PostgresDialect({ pool: serviceDatabase.pool }),
    log: ({ query }) => void queries.push({ sql: query.sql, parameters: [...query.parameters] }),
  })
  const answer = await verb(db)
  const [query, ...others] = queries
  if (!query || others.length > 0) throw new Error(`expected one statement, found ${queries.length}`)
  return { ...query, answer }
}

function replaced(parameters: unknown[], from: string, to: string): unknown[] {
  return parameters.map((parameter) => (parameter === from ? to : parameter))
}
