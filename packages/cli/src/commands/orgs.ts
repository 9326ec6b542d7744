import {
  createOrganisation,
  inviteAsOperator,
  listOrganisations,
  readConsoleUrl,
  systemClock,
  withDatabase,
} from '@tapedeck/server/admin'
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
    case 'invite': {
      const [name = ''] = expectArguments(rest, 'NAME')
      const role = readRole(flags.role)
      const consoleUrl = readConsoleUrl(process.env)
      const made = await withDatabase(process.env, (db) =>
        inviteAsOperator({ db, clock: systemClock, consoleUrl: () => consoleUrl }, name, role),
      )
      return flags.json
        ? json({ url: made.url, role, expires_at: made.expiresAt })
        : `a link that works once, for 7 days, and makes its holder ${role} of ${name}:\n${made.url}\n`
    }
    default:
      throw new UsageError(`orgs has create, list and invite, not ${verb ?? 'nothing'}`)
  }
}

function readRole(text = 'owner'): 'owner' | 'member' | 'viewer' {
  if (text === 'owner' || text === 'member' || text === 'viewer') return text
  throw new UsageError(`--role is owner, member or viewer, not ${text}`)
}
