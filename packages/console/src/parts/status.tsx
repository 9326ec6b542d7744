import type { Issue, Session, SessionStatus } from '@tapedeck/contract'

type Tone = 'good' | 'warn' | 'bad' | 'busy' | 'plain'

const looks: Record<SessionStatus, { tone: Tone; isMoving: boolean }> = {
  uploading: { tone: 'plain', isMoving: true },
  uploaded: { tone: 'busy', isMoving: false },
  processing: { tone: 'busy', isMoving: true },
  processed: { tone: 'good', isMoving: false },
  failed: { tone: 'bad', isMoving: false },
}

export const statuses = Object.keys(looks)

export function StatusPill({ session }: { session: Pick<Session, 'status' | 'processing'> }) {
  const { tone, isMoving } = looks[session.status]
  const fraction = session.processing?.fraction
  return (
    <span className="pill" data-tone={tone} data-pulse={isMoving || undefined}>
      <span className="dot" />
      {session.status}
      {session.status === 'processing' && fraction ? ` ${Math.round(fraction * 100)} %` : ''}
    </span>
  )
}

export const severityTone = { error: 'bad', warning: 'warn', info: 'plain' } as const

/** How many of each severity, the worst first. */
export function IssueCounts({ issues }: { issues: Issue[] }) {
  const counted = (['error', 'warning', 'info'] as const)
    .map((severity) => ({ severity, count: issues.filter((issue) => issue.severity === severity).length }))
    .filter(({ count }) => count > 0)
  if (counted.length === 0) return <span style={{ color: 'var(--muted)' }}>none</span>
  return (
    <span style={{ display: 'inline-flex', gap: 4 }}>
      {counted.map(({ severity, count }) => (
        <span
          key={severity}
          className="pill"
          data-tone={severityTone[severity]}
          title={`${count} × ${severity}`}
        >
          {count} <span className="visually-hidden">{severity}</span>
          <span aria-hidden="true">{severity === 'error' ? '✕' : severity === 'warning' ? '!' : 'i'}</span>
        </span>
      ))}
    </span>
  )
}

export function Pill({ tone = 'plain', children }: { tone?: Tone; children: React.ReactNode }) {
  return (
    <span className="pill" data-tone={tone}>
      {children}
    </span>
  )
}
