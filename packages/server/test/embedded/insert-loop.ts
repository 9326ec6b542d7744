/** Starts the database and inserts for ever; prints the pid of the postmaster, then each acknowledged id. */
import { writeSync } from 'node:fs'
import { startEmbedded } from '../../src/db/embedded/start.ts'
import { connect } from './database.ts'

const { pid, connection } = await startEmbedded(process.argv[2] ?? '')
const client = await connect(connection)
await client.query('create table if not exists written (id serial primary key)')
writeSync(1, `${pid}\n`)
for (;;) {
  const { rows } = await client.query<{ id: number }>('insert into written default values returning id')
  writeSync(1, `${rows[0]?.id}\n`)
}
