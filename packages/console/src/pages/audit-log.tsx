import { Text } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import type { AuditEntry } from '@tapedeck/contract'
import { useOrganisation } from '../api/organisation.ts'
import { auditLogQuery } from '../api/queries.ts'
import { ChoiceFilter, FilterBar, useFilters } from '../parts/filters.tsx'
import { Icon } from '../parts/icon.tsx'
import { More } from '../parts/more.tsx'
import { Page } from '../parts/page.tsx'
import { Empty, Failure, Loading } from '../parts/states.tsx'
import { Pill } from '../parts/status.tsx'
import { Table } from '../parts/table.tsx'
import { At } from '../parts/time.tsx'

const actions = [
  'key.created',
  'key.revoked',
  'member.joined',
  'member.changed',
  'member.removed',
  'invitation.created',
  'invitation.revoked',
  'session.deleted',
  'session.reprocessed',
  'calibration.stored',
  'webhook_endpoint.created',
  'webhook_endpoint.updated',
  'webhook_endpoint.deleted',
  'webhook_endpoint.secret_rotated',
  'webhook_endpoint.tested',
  'webhook_delivery.redelivered',
]

export function AuditLogPage() {
  const organisation = useOrganisation()
  const { filters, isFiltered, clear, use } = useFilters(['action'])
  const log = useInfiniteQuery(auditLogQuery(organisation, filters))
  const entries = log.data?.pages.flatMap(({ data }) => data)
  return (
    <Page title="Audit log" lead="Every change, who made it, and when.">
      <FilterBar isFiltered={isFiltered} onClear={clear}>
        <ChoiceFilter label="What" data={actions} {...use('action')} width={260} />
      </FilterBar>
      {log.isError && !entries && <Failure error={log.error} onRetry={() => void log.refetch()} />}
      {log.isPending && <Loading />}
      {entries?.length === 0 && (
        <Empty icon={<Icon name="log" size={40} />} title="Nothing has been changed yet" />
      )}
      {entries && entries.length > 0 && (
        <Table name="audit-log" titles={['When', 'Who', 'What', 'Of what']}>
          {entries.map((entry) => (
            <EntryRow key={entry.id} entry={entry} />
          ))}
        </Table>
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
