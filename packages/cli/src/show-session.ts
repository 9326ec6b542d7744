import type { Channel, Issue, Session } from '@tapedeck/sdk'
import { bytes, clockTime, table } from './print.ts'
import type { Colour, Terminal } from './terminal.ts'

/** A session for people: what it is, what is in it, what is wrong with it. */
export function showSession(session: Session, channels: Channel[], terminal: Terminal): string {
  const facts: [string, string | null][] = [
    ['id', session.id],
    ['file', session.filename],
    ['size', bytes(session.bytes)],
    ['site', session.site],
    ['device', session.device],
    ['created', session.created_at],
    ['recorded', session.recorded_at],
    ['duration', session.duration_s === null ? null : clockTime(session.duration_s)],
    ['segments', session.segment_count === 0 ? null : String(session.segment_count)],
    ['notes', session.notes],
    ['missing', missingParts(session)],
  ]
  const known = facts.filter((fact): fact is [string, string] => fact[1] !== null)
  const status = `status    ${paintStatus(session.status, terminal)}\n`
  return [
    status,
    table(
      known.map(([name, value]) => [name.padEnd(8), value]),
      terminal.width,
    ),
    channels.length > 0 ? `\n${showChannels(channels, terminal.width)}` : '',
    showIssues(session.issues, terminal),
  ].join('')
}

function missingParts({ upload }: Session): string | null {
  if (!upload) return null
  return `${upload.parts.length} of ${upload.parts.length + upload.received.length} parts`
}

type ShownChannel = Pick<Channel, 'name' | 'message_count' | 'rate_hz' | 'schema'>

export function showChannels(channels: ShownChannel[], width: number | undefined): string {
  const rows = channels.map(({ name, message_count, rate_hz, schema }) => [
    name,
    String(message_count),
    rate_hz === null ? '-' : `${rate_hz.toFixed(1)} Hz`,
    schema || '-',
  ])
  return table([['CHANNEL', 'MESSAGES', 'RATE', 'SCHEMA'], ...rows], width)
}

const severityColours: Record<string, Colour> = { error: 'red', warning: 'yellow', info: 'dim' }

type ShownIssue = Pick<Issue, 'severity' | 'code' | 'channel' | 'detail'>

export function showIssues(issues: ShownIssue[], terminal: Terminal): string {
  if (issues.length === 0) return '\nno issues\n'
  const rows = issues.map(({ severity, code, channel, detail }) => [severity, code, channel || '-', detail])
  const lines = table([['SEVERITY', 'ISSUE', 'CHANNEL', 'DETAIL'], ...rows], terminal.width).split('\n')
  return `\n${lines
    .map((line, index) => terminal.paint(severityColours[issues[index - 1]?.severity ?? ''] ?? 'bold', line))
    .join('\n')}`
}

export function paintStatus(status: Session['status'], terminal: Terminal): string {
  const colour = status === 'failed' ? 'red' : status === 'processed' ? 'green' : 'yellow'
  return terminal.paint(colour, status)
}
