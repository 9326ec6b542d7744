import { collect as collectObjects } from '@tapedeck/server/admin'
import type { Context } from '../command.ts'
import { json } from '../print.ts'
import { expectArguments } from '../usage.ts'

/** Looks at every object of the storage now, and removes those that no row names. */
export async function collect(args: string[], { flags, env, terminal, signal }: Context): Promise<undefined> {
  expectArguments(args)
  const dryRun = flags['dry-run'] ?? false
  const alsoUnknown = flags.unknown ?? false
  const found = await collectObjects(env, {
    dryRun,
    alsoUnknown,
    signal,
    tell: (object, why) =>
      terminal.print(flags.json ? json({ object, why }) : `${why.padEnd(9)}  ${object}\n`),
  })
  if (flags.json) {
    terminal.print(json({ dry_run: dryRun, ...found }))
    return
  }
  const removed = found.left_over + found.deleted + (alsoUnknown ? found.unknown : 0)
  const stay = alsoUnknown ? 0 : found.unknown
  terminal.print(
    `${found.seen} objects: ${removed} ${dryRun ? 'would be removed' : 'were removed'}, ${stay} unknown ones stay\n`,
  )
}
