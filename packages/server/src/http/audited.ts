import { type Change, recordChange } from '../access/audit.ts'
import type { Commit } from '../db/commit.ts'

/** Writes the change to the audit log in the transaction that makes it. What was made anew is named by the answer. */
export function auditedCommit(commit: Commit, change: Change): Commit {
  let detail = ''
  const transaction: Commit['transaction'] = (work) =>
    commit.transaction(async (trx) => {
      const answer = await work(trx)
      await recordChange(trx, { ...change, detail, object: change.object || idOf(answer) })
      return answer
    })
  const describe = (text: string) => {
    detail = text
  }
  return { transaction, statement: transaction, describe }
}

function idOf(answer: unknown): string {
  const id: unknown = typeof answer === 'object' && answer ? Reflect.get(answer, 'id') : undefined
  return typeof id === 'string' ? id : ''
}
