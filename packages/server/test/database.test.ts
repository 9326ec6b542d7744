import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import { type Database, openDatabase } from '../src/db/database.ts'
import { call } from './support/client.ts'
import { createDatabase, startService } from './support/service.ts'

let database: Database
beforeEach(async () => {
  database = openDatabase({ connectionString: await createDatabase() }, { maxConnections: 1 })
})
afterEach(() => database.close())

const times = [
  '2026-01-31 12:00:00.5',
  '2026-12-31 23:59:59.999',
  '1969-12-31 23:59:59',
  '0099-01-01 00:00:00',
]

for (const zone of ['UTC', 'Asia/Kolkata', 'America/St_Johns']) {
  test(`times come back as they are from a server in ${zone}`, async () => {
    await database.pool.query(`set time zone '${zone}'`)
    for (const text of times) {
      const { rows } = await database.pool.query('select $1::timestamptz as at', [`${text}+00`])
      assert.equal(rows[0].at.toISOString(), new Date(`${text.replace(' ', 'T')}Z`).toISOString())
    }
  })
}

test('a statement that is run again with other values gives their answer', async () => {
  for (const value of [1, 2, 3, 4, 5, 6, 7]) {
    const { rows } = await database.pool.query('select $1::int8 * 2 as twice', [value])
    assert.equal(rows[0].twice, value * 2)
  }
})

test('what is asked again and again is prepared; pages by their filters and pulls from a queue are planned anew', async () => {
  const prepared = [
    'select $1::int as first',
    `
    select $1::int as "on a line of its own"`,
    'WITH ins AS (SELECT $1::int AS id) SELECT id FROM ins LIMIT 1',
  ]
  const planned = [
    'select id from due where id > $1 limit $2',
    'SELECT id FROM due WHERE id > $1 LIMIT 5 FOR UPDATE SKIP LOCKED',
  ]
  await database.pool.query('create temporary table due (id int)')
  for (const text of [...prepared, ...planned])
    await database.pool.query(text, text.includes('$2') ? [1, 2] : [1])
  const { rows } = await database.pool.query(
    'select statement from pg_prepared_statements order by prepare_time',
  )
  assert.deepEqual(
    rows.map(({ statement }) => statement),
    prepared,
  )
})

// Fills all the room there is: what comes after it in this file is not prepared.
test('more statements than are prepared are answered too', async () => {
  for (let index = 0; index < 300; index++) {
    const { rows } = await database.pool.query(`select $1::int + ${index} as sum`, [index])
    assert.equal(rows[0].sum, index * 2)
  }
})

test('a node opens as many connections for its requests as it may, and no more', async (t) => {
  const service = await startService({ env: { TAPEDECK_DATABASE_CONNECTIONS: '2' } })
  t.after(() => service.close())
  const asking = Array.from({ length: 20 }, () => call(service.url, 'GET', '/v1/sessions', service))
  assert.ok((await Promise.all(asking)).every(({ status }) => status === 200))
  const { rows } = await service.database.pool.query(`select count(*)::int as open from pg_stat_activity
    where datname = current_database() and application_name = 'tapedeck' and pid <> pg_backend_pid()`)
  assert.deepEqual(rows, [{ open: 2 }])
})
