import { useQuery } from '@tanstack/react-query'
import { issueCodes } from '@tapedeck/analysis/issues'
import type { Channel, Issue, Segment, Session } from '@tapedeck/contract'
import { useMemo } from 'react'
import { useOrganisation } from '../api/organisation.ts'
import { channelsQuery, segmentsOfQuery, timelineQuery } from '../api/queries.ts'
import { Failure, Loading } from '../parts/states.tsx'
import { colourOfKind } from './colours.ts'
import type { Stretch } from './draw.ts'
import type { Lane, Note } from './lane.ts'
import { isSilent, type Recording, unpack } from './recording.ts'
import { Timeline } from './timeline.tsx'

/** The timeline of a session: its counts, its segments, its issues at their place. */
export function SessionTimeline({ session }: { session: Session }) {
  const organisation = useOrganisation()
  const timeline = useQuery(timelineQuery(organisation, session.id))
  const channels = useQuery(channelsQuery(organisation, session.id))
  const segments = useQuery(segmentsOfQuery(organisation, session.id))
  const unpacked = useQuery({
    queryKey: [organisation.id, 'recording', session.id, timeline.dataUpdatedAt],
    queryFn: () => {
      if (!timeline.data || !channels.data) throw new Error('the timeline is not there')
      return unpack(timeline.data, new Map(channels.data.map(({ name, rate_hz }) => [name, rate_hz])))
    },
    enabled: timeline.isSuccess && channels.isSuccess,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  })
  const recording = unpacked.data
  const shown = useMemo(
    () =>
      recording && channels.data && prepareAll(recording, channels.data, segments.data ?? [], session.issues),
    [recording, channels.data, segments.data, session.issues],
  )
  const error = timeline.error ?? channels.error ?? unpacked.error
  if (error) return <Failure error={error} onRetry={() => void timeline.refetch()} />
  if (!recording || !shown) return <Loading rows={6} />
  return <Timeline recording={recording} {...shown} />
}

function prepareAll(recording: Recording, channels: Channel[], segments: Segment[], issues: Issue[]) {
  const byName = new Map(channels.map((channel) => [channel.name, channel]))
  const since = (t: number | bigint) => Number(BigInt(t) - recording.startNs)
  const notesOf = (found: Issue[]): Note[] =>
    found.flatMap(({ t_ns, severity, code, detail }) =>
      t_ns === undefined ? [] : [{ atNs: since(t_ns), severity, title: titleOf(code), detail }],
    )
  // Those that have said nothing come last.
  const rows = recording.rows.toSorted((a, b) => Number(isSilent(a)) - Number(isSilent(b)))
  const lanes = rows.map((row): Lane => {
    const channel = byName.get(row.name)
    const notes = notesOf(channel?.issues ?? [])
    return { row, label: row.name, colour: colourOfKind(channel?.kind ?? 'other'), marks: notes, notes }
  })
  const stretches = segments.map(
    (segment): Stretch => ({
      fromNs: since(segment.t_start_ns),
      toNs: since(segment.t_end_ns),
      label: segment.label,
      isMarked: segment.issues.some((code) => severityOf(code) === 'error'),
    }),
  )
  return { lanes, segments: stretches, notes: notesOf(issues.filter(({ channel }) => channel === '')) }
}

function severityOf(code: string): string | undefined {
  return Object.hasOwn(issueCodes, code) ? issueCodes[code as keyof typeof issueCodes].severity : undefined
}

function titleOf(code: string): string {
  return code.replaceAll('_', ' ')
}
