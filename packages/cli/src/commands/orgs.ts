import { createOrganisation, listOrganisations, systemClock, withDatabase } from '@tapedeck/server/admin'
import { json, table, time } from '../print.ts'
import { expectArguments, type Flags, UsageError } from '../usage.ts'

export async function orgs([verb, ...rest]: string[], flags: Flags): Promise<string> {
  switch (verb) {
    case 'create': {
      const [name = ''] = expectArguments(rest, 'NAME')
      const made = await withDatabase(process.env, (db) => createOrganisation(db, systemClock, name))
      if (made === 'taken') throw new Error(`there is already an organisation ${name}`)
      return flags.json
        ? json({ id: made.id, name, created_at: made.createdAt })
        : `made the organisation ${name} (${made.id})\n`
    }
    case 'list': {
      expectArguments(rest)
      const all = await withDatabase(process.env, listOrganisations)
      if (flags.json)
        return json({ data: all.map(({ id, name, createdAt }) => ({ id, name, created_at: createdAt })) })
      return table([
        ['NAME', 'ID', 'CREATED'],
        ...all.map(({ name, id, createdAt }) => [name, id, time(createdAt)]),
      ])
    }
    default:
      throw new UsageError(`orgs has create and list, not ${verb ?? 'nothing'}`)
  }
}
