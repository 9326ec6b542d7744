import type { SearchSegments } from '@tapedeck/sdk'
import type { Context } from '../command.ts'
import { connect } from '../connection.ts'
import { json, table } from '../print.ts'
import { expectArguments, given, readCount, UsageError } from '../usage.ts'

const DEFAULT_LIMIT = 50

export async function segments([verb, ...rest]: string[], context: Context): Promise<undefined> {
  if (verb !== 'search') throw new UsageError(`segments has search, not ${verb ?? 'nothing'}`)
  expectArguments(rest)
  const { flags, terminal, signal } = context
  const limit = readCount('limit', flags.limit) ?? DEFAULT_LIMIT
  const { 'min-duration': gte, 'max-duration': lt, since, until } = flags
  const filters = given({
    session: flags.session,
    site: flags.site,
    device: flags.device,
    channel: flags.channel,
    kind: flags.kind,
    issue: flags.issue,
    severity: flags.severity,
    text: flags.text,
    recorded: since || until ? given({ gte: since, lt: until }) : undefined,
    duration: gte || lt ? given({ gte, lt }) : undefined,
    limit: Math.min(limit, 500),
  }) as SearchSegments
  const { tapedeck } = connect(context)
  const found = await tapedeck.segments.search(filters, { signal }).toArray({ limit })
  if (flags.json) return void terminal.print(json({ data: found }))
  const rows = found.map((segment) => [
    segment.id,
    segment.session,
    segment.started_at ?? `${segment.t_start_ns} ns`,
    `${segment.duration_s.toFixed(1)} s`,
    segment.site,
    segment.device ?? '-',
    String(segment.message_count),
    segment.issues.join(',') || '-',
  ])
  const head = ['ID', 'SESSION', 'BEGINS', 'LENGTH', 'SITE', 'DEVICE', 'MESSAGES', 'ISSUES']
  terminal.print(table([head, ...rows], terminal.width))
}
