import { Text } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import type { AuditEntry } from '@tapedeck/contract'
import { useOrganisation } from '../api/organisation.ts'
import { auditLogQuery } from '../api/queries.ts'
import { Icon } from '../parts/icon.tsx'
import { More } from '../parts/more.tsx'
import { Page } from '../parts/page.tsx'
import { Empty, Failure, Loading } from '../parts/states.tsx'
import { Pill } from '../parts/status.tsx'
import { At } from '../parts/time.tsx'

export function AuditLogPage() {
  const organisation = useOrganisation()
  const log = useInfiniteQuery(auditLogQuery(organisation))
  const entries = log.data?.pages.flatMap(({ data }) => data)
  return (
    <Page title="Audit log" lead="Every change, who made it, and when.">
      {log.isError && !entries && <Failure error={log.error} onRetry={() => void log.refetch()} />}
      {log.isPending && <Loading />}
      {entries?.length === 0 && (
        <Empty icon={<Icon name="log" size={40} />} title="Nothing has been changed yet" />
      )}
      {entries && entries.length > 0 && (
        <div className="card scroll-x">
          <table className="table" data-testid="audit-log">
            <thead>
              <tr>
                <th>When</th>
                <th>Who</th>
                <th>What</th>
                <th>Of what</th>
              </tr>
            </thead>
            <tbody>
              {entries.map((entry) => (
                <EntryRow key={entry.id} entry={entry} />
              ))}
            </tbody>
          </table>
        </div>
      )}
      <More
        hasMore={log.hasNextPage}
        isLoading={log.isFetchingNextPage}
        onMore={() => void log.fetchNextPage()}
      />
    </Page>
  )
}

const kinds = { key: 'API key', member: 'member', command: 'operator', service: 'service' }

function EntryRow({ entry }: { entry: AuditEntry }) {
  return (
    <tr>
      <td>
        <At at={entry.at} />
      </td>
      <td style={{ maxWidth: 260 }}>
        <div className="clip" title={entry.actor.id}>
          {entry.actor.name || entry.actor.id}
        </div>
        <Text size="xs" c="dimmed" className="clip">
          {kinds[entry.actor.kind]} {entry.actor.kind === 'key' ? entry.actor.id : ''}
        </Text>
      </td>
      <td>
        <span className="mono">{entry.action}</span> {entry.sandbox && <Pill tone="warn">sandbox</Pill>}
      </td>
      <td style={{ maxWidth: 380 }}>
        <div className="clip">{entry.detail}</div>
        <Text size="xs" c="dimmed" className="clip mono">
          {entry.target}
        </Text>
      </td>
    </tr>
  )
}
