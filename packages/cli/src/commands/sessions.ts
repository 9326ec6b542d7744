import type { ListSessions, Session } from '@tapedeck/sdk'
import { type Context, RECORDING_FAILED } from '../command.ts'
import { connect } from '../connection.ts'
import { bytes, json, table } from '../print.ts'
import { openStatusLine } from '../progress-bar.ts'
import { showSession } from '../show-session.ts'
import { expectArguments, given, readCount, UsageError } from '../usage.ts'

const DEFAULT_LIMIT = 50

export async function sessions([verb, ...rest]: string[], context: Context): Promise<number | undefined> {
  switch (verb) {
    case 'list':
      expectArguments(rest)
      return list(context)
    case 'get':
      return get(idIn(rest), context)
    case 'watch':
      return watch(idIn(rest), context)
    case 'delete': {
      const { tapedeck } = connect(context)
      const deleted = await tapedeck.sessions.delete(idIn(rest), { signal: context.signal })
      context.terminal.print(context.flags.json ? json(deleted) : `deleted ${deleted.id}\n`)
      return undefined
    }
    default:
      throw new UsageError(`sessions has list, get, watch and delete, not ${verb ?? 'nothing'}`)
  }
}

function idIn(args: string[]): string {
  const [id = ''] = expectArguments(args, 'ID')
  return id
}

async function list(context: Context): Promise<undefined> {
  const { flags, terminal, signal } = context
  const limit = readCount('limit', flags.limit) ?? DEFAULT_LIMIT
  const filters = given({
    site: flags.site,
    device: flags.device,
    status: flags.status as Session['status'] | undefined,
    channel: flags.channel,
    issue: flags.issue,
    created: flags.since || flags.until ? given({ gte: flags.since, lt: flags.until }) : undefined,
    limit: Math.min(limit, 500),
  }) as ListSessions
  const { tapedeck } = connect(context)
  const found = await tapedeck.sessions.list(filters, { signal }).toArray({ limit })
  if (flags.json) return void terminal.print(json({ data: found }))
  const rows = found.map((session) => [
    session.id,
    session.status,
    session.site,
    session.device ?? '-',
    session.filename,
    bytes(session.bytes),
    session.created_at,
    session.issues.length === 0 ? '-' : String(session.issues.length),
  ])
  const head = ['ID', 'STATUS', 'SITE', 'DEVICE', 'FILE', 'SIZE', 'CREATED', 'ISSUES']
  terminal.print(table([head, ...rows], terminal.width))
}

async function get(id: string, context: Context): Promise<undefined> {
  const { flags, terminal, signal } = context
  const { tapedeck } = connect(context)
  const session = await tapedeck.sessions.retrieve(id, { signal })
  const { data: channels } = await tapedeck.sessions.channels(id, { signal })
  terminal.print(flags.json ? json({ session, channels }) : showSession(session, channels, terminal))
}

async function watch(id: string, context: Context): Promise<number | undefined> {
  const { flags, terminal, signal } = context
  const { tapedeck } = connect(context)
  const line = openStatusLine(terminal, flags.json ?? false)
  const session = await tapedeck.sessions.wait(id, {
    signal,
    onProgress: (now) => line.show(progressOf(now)),
  })
  line.clear()
  const { data: channels } = await tapedeck.sessions.channels(id, { signal })
  terminal.print(flags.json ? json({ session, channels }) : showSession(session, channels, terminal))
  return session.status === 'failed' ? RECORDING_FAILED : undefined
}

/** `processing reading 42 %` */
export function progressOf({ status, processing, upload }: Session): string {
  if (processing) return `${status} ${processing.stage} ${Math.round(processing.fraction * 100)} %`
  if (upload)
    return `${status} ${upload.received.length}/${upload.received.length + upload.parts.length} parts`
  return status
}
