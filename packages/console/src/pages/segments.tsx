import { Text } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { issueCodes } from '@tapedeck/analysis/issues'
import type { Segment } from '@tapedeck/contract'
import { channelKinds } from '@tapedeck/contract/kinds'
import { useMemo } from 'react'
import { useOrganisation } from '../api/organisation.ts'
import { segmentsQuery } from '../api/queries.ts'
import {
  ChoiceFilter,
  DayFilter,
  FilterBar,
  type FiltersInUse,
  TextFilter,
  useChoices,
  useFilters,
} from '../parts/filters.tsx'
import { formatCount, formatDuration } from '../parts/format.ts'
import { Icon } from '../parts/icon.tsx'
import { More } from '../parts/more.tsx'
import { Page } from '../parts/page.tsx'
import { Empty, Failure, Loading } from '../parts/states.tsx'
import { Pill, severityTone } from '../parts/status.tsx'
import { Table } from '../parts/table.tsx'
import { At } from '../parts/time.tsx'
import { colourOfKind } from '../timeline/colours.ts'
import { Strip } from '../timeline/strip.tsx'

const filterNames = [
  'text',
  'site',
  'device',
  'channel',
  'kind',
  'issue',
  'severity',
  'recorded[gte]',
  'recorded[lt]',
  'duration[gte]',
  'duration[lt]',
  'session',
] as const

export function SegmentsPage() {
  const organisation = useOrganisation()
  const shown = useFilters(filterNames)
  const { filters, isFiltered } = shown
  const segments = useInfiniteQuery(segmentsQuery(organisation, filters))
  const found = segments.data?.pages.flatMap(({ data }) => data)
  return (
    <Page title="Segments" lead="Pieces of recordings, to be searched over all of them.">
      <SegmentFilters {...shown} />
      {segments.isError && !found && (
        <Failure error={segments.error} onRetry={() => void segments.refetch()} />
      )}
      {segments.isPending && <Loading />}
      {found?.length === 0 && (
        <Empty
          icon={<Icon name="segments" size={40} />}
          title={isFiltered ? 'No segment is like that' : 'No segments yet'}
        >
          {isFiltered
            ? 'Change the filters, or clear them.'
            : 'Recordings are cut into segments when they are processed.'}
        </Empty>
      )}
      {found && found.length > 0 && <SegmentTable segments={found} />}
      <More
        hasMore={segments.hasNextPage}
        isLoading={segments.isFetchingNextPage}
        onMore={() => void segments.fetchNextPage()}
      />
    </Page>
  )
}

function SegmentFilters({ use, clear, isFiltered }: FiltersInUse<(typeof filterNames)[number]>) {
  const { sites, devices, channels } = useChoices()
  return (
    <FilterBar isFiltered={isFiltered} onClear={clear}>
      <TextFilter label="Words in notes, file or site" {...use('text')} width={200} />
      <ChoiceFilter label="Site" data={sites} {...use('site')} />
      <ChoiceFilter label="Device" data={devices} {...use('device')} />
      <TextFilter label="Channel" data={channels} {...use('channel')} />
      <ChoiceFilter label="Kind" data={[...channelKinds]} {...use('kind')} width={120} />
      <ChoiceFilter label="Issue" data={Object.keys(issueCodes)} {...use('issue')} width={170} />
      <ChoiceFilter label="Severity" data={['error', 'warning', 'info']} {...use('severity')} width={110} />
      <DayFilter label="Recorded from" {...use('recorded[gte]')} />
      <DayFilter label="Recorded before" {...use('recorded[lt]')} />
      <TextFilter label="Seconds at least" {...use('duration[gte]')} width={120} />
      <TextFilter label="Seconds below" {...use('duration[lt]')} width={120} />
    </FilterBar>
  )
}

function SegmentTable({ segments }: { segments: Segment[] }) {
  return (
    <Table
      name="segments"
      titles={[
        'Segment',
        'In its recording',
        'Begins',
        'Length',
        'Site and device',
        'Channels',
        'Messages',
        'Issues',
      ]}
    >
      {segments.map((segment) => (
        <SegmentRow key={segment.id} segment={segment} />
      ))}
    </Table>
  )
}

const MOST_ISSUES = 2

function SegmentRow({ segment }: { segment: Segment }) {
  const { slug } = useOrganisation()
  const { t_start_ns, t_end_ns } = segment
  const part = useMemo(() => ({ fromNs: BigInt(t_start_ns), toNs: BigInt(t_end_ns) }), [t_start_ns, t_end_ns])
  return (
    <tr className="link">
      <td style={{ minWidth: 140, maxWidth: 200 }}>
        <Link
          className="quiet"
          to="/o/$organisation/sessions/$session"
          params={{ organisation: slug, session: segment.session }}
        >
          <Text size="sm" fw={500} className="clip" title={segment.label}>
            {segment.label || `Segment ${segment.index + 1}`}
          </Text>
        </Link>
        <Text size="xs" c="dimmed" className="clip">
          cut at {cuts[segment.cut]}
        </Text>
      </td>
      <td>
        <Strip session={segment.session} part={part} width={170} height={24} />
      </td>
      <td>
        <At at={segment.started_at} />
      </td>
      <td className="numbers">{formatDuration(segment.duration_s)}</td>
      <td style={{ maxWidth: 180 }}>
        <div className="clip">{segment.site}</div>
        <Text size="xs" c="dimmed" className="clip">
          {segment.device}
        </Text>
      </td>
      <td>
        <Kinds segment={segment} />
      </td>
      <td className="numbers">{formatCount(segment.message_count)}</td>
      <td>
        <span style={{ display: 'flex', gap: 4, flexWrap: 'wrap' }}>
          {segment.issues.slice(0, MOST_ISSUES).map((code) => (
            <Pill key={code} tone={toneOf(code)}>
              {code}
            </Pill>
          ))}
          {segment.issues.length > MOST_ISSUES && <Pill>+{segment.issues.length - MOST_ISSUES}</Pill>}
        </span>
      </td>
    </tr>
  )
}

const cuts = { start: 'the beginning', marker: 'a mark', silence: 'a silence', window: 'a window' }

const MOST_KINDS = 12

/** One square for each channel, in the colour of its kind. */
function Kinds({ segment }: { segment: Segment }) {
  const names = segment.channels.map(({ name }) => name)
  return (
    <span title={names.slice(0, 40).join('\n')} style={{ display: 'flex', gap: 2, alignItems: 'center' }}>
      {names.slice(0, MOST_KINDS).map((name) => (
        <span
          key={name}
          style={{
            width: 6,
            height: 14,
            borderRadius: 1,
            background: colourOfKind(name.split('/')[0] ?? ''),
          }}
        />
      ))}
      <Text size="xs" c="dimmed" ml={4} className="numbers">
        {names.length}
      </Text>
    </span>
  )
}

function toneOf(code: string): 'bad' | 'warn' | 'plain' {
  if (!Object.hasOwn(issueCodes, code)) return 'plain'
  return severityTone[issueCodes[code as keyof typeof issueCodes].severity]
}
