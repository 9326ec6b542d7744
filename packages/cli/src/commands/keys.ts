import {
  createKey,
  listKeys,
  type Permission,
  revokeKey,
  systemClock,
  withDatabase,
} from '@tapedeck/server/admin'
import { json, table, time } from '../print.ts'
import { expectArguments, type Flags, UsageError } from '../usage.ts'

export async function keys([verb, ...rest]: string[], flags: Flags): Promise<string> {
  switch (verb) {
    case 'create':
      expectArguments(rest)
      return create(flags)
    case 'list':
      expectArguments(rest)
      return list(flags)
    case 'revoke': {
      const [id = ''] = expectArguments(rest, 'ID')
      const outcome = await withDatabase(process.env, (db) => revokeKey(db, id))
      if (outcome === 'unknown') throw new Error(`there is no key ${id}; see: tapedeck keys list`)
      return flags.json ? json({ id, revoked: true }) : `revoked ${id}; no node takes it any more\n`
    }
    default:
      throw new UsageError(`keys has create, list and revoke, not ${verb ?? 'nothing'}`)
  }
}

async function create(flags: Flags): Promise<string> {
  if (!flags.org) throw new UsageError('keys create needs --org NAME')
  const input = {
    organisation: flags.org,
    permissions: readPermissions(flags.permissions),
    mode: flags.test ? ('test' as const) : ('live' as const),
    name: flags.name ?? '',
  }
  const made = await withDatabase(process.env, (db) => createKey(db, systemClock, input))
  if (flags.json) return json(made)
  return `${made.key}\n\nid ${made.id}, organisation ${made.organisation}, ${made.permissions.join(',')}. The key is shown only this once.\n`
}

function readPermissions(text = 'read,write'): Permission[] {
  const given = text.split(',').sort().join(',')
  if (given === 'read') return ['read']
  if (given === 'read,write') return ['read', 'write']
  throw new UsageError(`--permissions is read or read,write, not ${text}`)
}

async function list(flags: Flags): Promise<string> {
  const all = await withDatabase(process.env, (db) => listKeys(db, flags.org))
  if (flags.json) {
    const data = all.map(({ createdAt, lastUsedAt, revokedAt, ...key }) => ({
      ...key,
      created_at: createdAt,
      last_used_at: lastUsedAt,
      revoked_at: revokedAt,
    }))
    return json({ data })
  }
  const rows = all.map((key) => [
    key.id,
    key.organisation,
    key.mode,
    key.permissions.join(','),
    key.name || '-',
    time(key.createdAt),
    time(key.lastUsedAt),
    time(key.revokedAt),
  ])
  return table([
    ['ID', 'ORGANISATION', 'MODE', 'PERMISSIONS', 'NAME', 'CREATED', 'LAST USED', 'REVOKED'],
    ...rows,
  ])
}
