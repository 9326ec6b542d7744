import { countWaiting, setPaused, withDatabase } from '@tapedeck/server/admin'
import { json } from '../print.ts'
import { expectArguments, type Flags, UsageError } from '../usage.ts'

export async function processing([verb, ...rest]: string[], flags: Flags): Promise<string> {
  if (verb !== 'pause' && verb !== 'resume') {
    throw new UsageError(`processing has pause and resume, not ${verb ?? 'nothing'}`)
  }
  expectArguments(rest)
  const paused = verb === 'pause'
  const waiting = await withDatabase(process.env, async (db) => {
    await setPaused(db, paused)
    return countWaiting(db)
  })
  if (flags.json) return json({ paused, waiting })
  return paused
    ? `processing is paused; ${waiting} completed sessions wait\n`
    : `processing goes on; ${waiting} completed sessions are let in by the running service\n`
}
