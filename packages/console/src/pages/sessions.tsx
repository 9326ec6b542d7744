import { ActionIcon, Menu, Text } from '@mantine/core'
import { useInfiniteQuery, useMutation, useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { issueCodes } from '@tapedeck/analysis/issues'
import type { Session } from '@tapedeck/contract'
import { useState } from 'react'
import { useOrganisation } from '../api/organisation.ts'
import { sessionsQuery } from '../api/queries.ts'
import { Confirm } from '../parts/confirm.tsx'
import {
  ChoiceFilter,
  DayFilter,
  FilterBar,
  type FiltersInUse,
  TextFilter,
  useChoices,
  useFilters,
} from '../parts/filters.tsx'
import { formatBytes, formatDuration } from '../parts/format.ts'
import { Icon } from '../parts/icon.tsx'
import { say, sayError } from '../parts/messages.tsx'
import { More } from '../parts/more.tsx'
import { Page } from '../parts/page.tsx'
import { Empty, Failure, Loading } from '../parts/states.tsx'
import { IssueCounts, StatusPill, statuses } from '../parts/status.tsx'
import { Table } from '../parts/table.tsx'
import { Ago } from '../parts/time.tsx'
import { Strip } from '../timeline/strip.tsx'
import { DropZone } from '../upload/drop-zone.tsx'
import { UploadList } from '../upload/upload-list.tsx'

const filterNames = ['site', 'device', 'status', 'channel', 'issue', 'created[gte]', 'created[lt]'] as const

export function SessionsPage() {
  return (
    <DropZone>
      {(chooser) => (
        <Page
          title="Sessions"
          lead="Every recording, what is in it, and what is wrong with it."
          actions={chooser}
        >
          <UploadList />
          <Sessions />
        </Page>
      )}
    </DropZone>
  )
}

function Sessions() {
  const organisation = useOrganisation()
  const shown = useFilters(filterNames)
  const { filters, isFiltered } = shown
  const sessions = useInfiniteQuery(sessionsQuery(organisation, filters))
  const found = sessions.data?.pages.flatMap(({ data }) => data)
  return (
    <>
      <SessionFilters {...shown} />
      {sessions.isError && !found && (
        <Failure error={sessions.error} onRetry={() => void sessions.refetch()} />
      )}
      {sessions.isPending && <Loading />}
      {found?.length === 0 &&
        (isFiltered ? (
          <Empty title="No session is like that">Change the filters, or clear them.</Empty>
        ) : (
          <Empty icon={<Icon name="tape" size={40} />} title="No recordings yet">
            {organisation.mayWrite
              ? 'Drop files anywhere on this page: MCAP, ROS bags, ULog, video and more. Or upload them by the API.'
              : 'They show here when somebody has uploaded one.'}
          </Empty>
        ))}
      {found && found.length > 0 && <SessionTable sessions={found} />}
      <More
        hasMore={sessions.hasNextPage}
        isLoading={sessions.isFetchingNextPage}
        onMore={() => void sessions.fetchNextPage()}
      />
    </>
  )
}

function SessionFilters({ use, clear, isFiltered }: FiltersInUse<(typeof filterNames)[number]>) {
  const { sites, devices, channels } = useChoices()
  return (
    <FilterBar isFiltered={isFiltered} onClear={clear}>
      <ChoiceFilter label="Site" data={sites} {...use('site')} />
      <ChoiceFilter label="Device" data={devices} {...use('device')} />
      <ChoiceFilter label="Status" data={statuses} {...use('status')} width={124} />
      <TextFilter label="Channel" data={channels} {...use('channel')} />
      <ChoiceFilter label="Issue" data={Object.keys(issueCodes)} {...use('issue')} width={170} />
      <DayFilter label="Created from" {...use('created[gte]')} />
      <DayFilter label="Created before" {...use('created[lt]')} />
    </FilterBar>
  )
}

function SessionTable({ sessions }: { sessions: Session[] }) {
  return (
    <Table
      name="sessions"
      titles={[
        'Recording',
        'Status',
        'Activity',
        'Site and device',
        'Length',
        'Channels',
        'Issues',
        'Created',
      ]}
      hasActions
    >
      {sessions.map((session) => (
        <SessionRow key={session.id} session={session} />
      ))}
    </Table>
  )
}

function SessionRow({ session }: { session: Session }) {
  const { slug, mayWrite } = useOrganisation()
  const params = { organisation: slug, session: session.id }
  return (
    <tr className="link" data-session={session.id}>
      <td style={{ maxWidth: 260 }}>
        <Link className="quiet" to="/o/$organisation/sessions/$session" params={params}>
          <Text size="sm" fw={500} className="clip" title={session.filename}>
            {session.filename}
          </Text>
        </Link>
        <Text size="xs" c="dimmed" className="clip" title={session.notes ?? ''}>
          {formatBytes(session.bytes)}
          {session.notes ? ` · ${session.notes}` : ''}
        </Text>
      </td>
      <td>
        <StatusPill session={session} />
      </td>
      <td>{session.status === 'processed' ? <Strip session={session.id} /> : null}</td>
      <td style={{ maxWidth: 200 }}>
        <div className="clip" title={session.site}>
          {session.site}
        </div>
        {session.device && (
          <Text size="xs" c="dimmed" className="clip" title={session.device}>
            {session.device}
          </Text>
        )}
      </td>
      <td className="numbers">{formatDuration(session.duration_s)}</td>
      <td className="numbers">{session.channels.length || '–'}</td>
      <td>
        {session.status === 'processed' || session.status === 'failed' ? (
          <IssueCounts issues={session.issues} />
        ) : (
          '–'
        )}
      </td>
      <td>
        <Ago at={session.created_at} />
      </td>
      <td>{mayWrite && <SessionMenu session={session} />}</td>
    </tr>
  )
}

function SessionMenu({ session }: { session: Session }) {
  const [isAsking, setAsking] = useState(false)
  return (
    <>
      <Menu position="bottom-end">
        <Menu.Target>
          <ActionIcon variant="subtle" color="gray" aria-label={`Actions for ${session.filename}`}>
            <Icon name="dots" />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item color="red" onClick={() => setAsking(true)}>
            Delete
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
      <DeleteSession session={session} isOpen={isAsking} onClose={() => setAsking(false)} />
    </>
  )
}

export function DeleteSession({
  session,
  isOpen,
  onClose,
}: {
  session: Session
  isOpen: boolean
  onClose: () => void
}) {
  const { ask, id, slug } = useOrganisation()
  const client = useQueryClient()
  const navigate = useNavigate()
  const remove = useMutation({
    mutationFn: () => ask('DELETE', `/v1/sessions/${session.id}`),
    async onSuccess() {
      say(`${session.filename} is deleted.`)
      onClose()
      await navigate({
        to: '/o/$organisation/sessions',
        params: { organisation: slug },
        search: true,
      })
      await client.invalidateQueries({ queryKey: [id, 'sessions'] })
    },
    onError: sayError,
  })
  return (
    <Confirm
      isOpen={isOpen}
      onClose={onClose}
      title="Delete this session?"
      action="Delete for good"
      isBusy={remove.isPending}
      onConfirm={() => remove.mutate()}
    >
      The recording <strong>{session.filename}</strong> ({formatBytes(session.bytes)}) and everything found in
      it are deleted. This cannot be undone.
    </Confirm>
  )
}
