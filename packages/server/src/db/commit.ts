import type { Transaction } from 'kysely'
import type { Db } from './database.ts'
import type { Tables } from './schema.ts'

/**
 * How a verb keeps what it did. What the work returns is the answer to the client; where the request has an
 * idempotency key, the answer is stored in the same transaction as the work.
 */
export type Commit = {
  transaction<T>(work: (trx: Transaction<Tables>) => Promise<T>): Promise<T>
  /** For work of one statement, which needs no transaction unless something is stored with it. */
  statement<T>(work: (db: Db) => Promise<T>): Promise<T>
  /** Says in words what is changed, for the audit log: an id alone tells nothing of what is gone. */
  describe(detail: string): void
}

export function plainCommit(db: Db): Commit {
  return {
    transaction: (work) => db.transaction().execute(work),
    statement: (work) => work(db),
    describe() {},
  }
}
