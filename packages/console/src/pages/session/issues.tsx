import { Group, Stack, Text } from '@mantine/core'
import { issueCodes } from '@tapedeck/analysis/issues'
import type { Issue, Session } from '@tapedeck/contract'
import { Icon } from '../../parts/icon.tsx'
import { Empty } from '../../parts/states.tsx'
import { Pill, severityTone } from '../../parts/status.tsx'

const severities = ['error', 'warning', 'info'] as const
const headings = { error: 'Errors', warning: 'Warnings', info: 'For information' }

/** What is wrong, the worst first, with what it means and what to do. */
export function Issues({ session }: { session: Session }) {
  if (session.status !== 'processed' && session.status !== 'failed') {
    return <Text c="dimmed">They are found when the recording is processed.</Text>
  }
  if (session.issues.length === 0) {
    return <Empty icon={<Icon name="check" size={36} />} title="Nothing is wrong with this recording" />
  }
  return (
    <Stack gap="lg" data-testid="issues">
      {severities.map((severity) => {
        const found = session.issues.filter((issue) => issue.severity === severity)
        return found.length > 0 && <OfOneSeverity key={severity} severity={severity} issues={found} />
      })}
    </Stack>
  )
}

function OfOneSeverity({ severity, issues }: { severity: Issue['severity']; issues: Issue[] }) {
  const byCode = Map.groupBy(issues, ({ code }) => code)
  return (
    <section>
      <Text fw={600} mb="xs">
        {headings[severity]}
      </Text>
      <Stack gap="xs">
        {[...byCode].map(([code, found]) => (
          <OfOneCode key={code} code={code} issues={found} />
        ))}
      </Stack>
    </section>
  )
}

const MOST_SHOWN = 50

function OfOneCode({ code, issues }: { code: string; issues: Issue[] }) {
  const explained = Object.hasOwn(issueCodes, code) ? issueCodes[code as keyof typeof issueCodes] : undefined
  const [first] = issues
  return (
    <div className="card" style={{ padding: '12px 16px' }}>
      <Group gap="xs" mb={4}>
        <Pill tone={severityTone[first?.severity ?? 'info']}>{first?.severity}</Pill>
        <Text fw={500} className="mono">
          {code}
        </Text>
        {issues.length > 1 && (
          <Text size="sm" c="dimmed">
            on {issues.length} channels
          </Text>
        )}
      </Group>
      {explained && (
        <Text size="sm" c="dimmed" mb="xs">
          {explained.meaning} <strong>{explained.remedy}</strong>
        </Text>
      )}
      <Stack gap={2}>
        {issues.slice(0, MOST_SHOWN).map((issue) => (
          <Text size="sm" key={`${issue.channel} ${issue.detail}`} className="wrap">
            {issue.channel && <span className="mono">{issue.channel}: </span>}
            {issue.detail}
          </Text>
        ))}
        {issues.length > MOST_SHOWN && (
          <Text size="sm" c="dimmed">
            and {issues.length - MOST_SHOWN} more; see JSON
          </Text>
        )}
      </Stack>
    </div>
  )
}
