import type { CompiledQuery } from 'kysely'
import type { Db } from './database.ts'

/** A statement of a hot path: put together once, with placeholders, and run with the parameters in their place. */
export function statement<Row>(
  build: (db: Db) => { compile(): CompiledQuery<Row> },
): (db: Db, ...parameters: unknown[]) => Promise<Row[]> {
  let compiled: CompiledQuery<Row> | undefined
  return async (db, ...parameters) => {
    compiled ??= build(db).compile()
    return (await db.executeQuery<Row>({ ...compiled, parameters })).rows
  }
}
