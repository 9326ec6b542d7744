import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import { isUnavailable, openDatabase } from '../src/db/database.ts'
import { createDatabase } from './support/service.ts'
import { until } from './support/until.ts'

// An error that nobody listens to would end the process, and fails the test.

test('a connection that breaks between two statements of a transaction ends the transaction alone', async (t) => {
  const connectionString = await createDatabase()
  const errors: Error[] = []
  const database = openDatabase({ connectionString }, { onError: (error) => errors.push(error) })
  const other = openDatabase({ connectionString })
  t.after(() => Promise.all([database.close(), other.close()]))
  const broken = database.db.transaction().execute(async (trx) => {
    const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(trx)
    await sql`select pg_terminate_backend(${rows[0]?.pid})`.execute(other.db)
    await until('the end of the connection was heard', async () => errors.length > 0)
    await sql`select 1`.execute(trx)
  })
  await assert.rejects(broken, (error) => isUnavailable(error))
  await sql`select 1`.execute(database.db)
})
