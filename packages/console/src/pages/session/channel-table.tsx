import { Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import type { Channel, Session } from '@tapedeck/contract'
import { useOrganisation } from '../../api/organisation.ts'
import { channelsQuery } from '../../api/queries.ts'
import { formatBytes, formatCount, formatNs, formatRate } from '../../parts/format.ts'
import { Failure, Loading } from '../../parts/states.tsx'
import { IssueCounts } from '../../parts/status.tsx'
import { Table } from '../../parts/table.tsx'
import { colourOfKind } from '../../timeline/colours.ts'

export function ChannelTable({ session }: { session: Session }) {
  const organisation = useOrganisation()
  const { data: channels, error } = useQuery(channelsQuery(organisation, session.id))
  if (error) return <Failure error={error} />
  if (!channels) return <Loading rows={4} />
  if (channels.length === 0) return <Text c="dimmed">They are found when the recording is processed.</Text>
  return (
    <Table
      name="channels"
      titles={[
        'Channel',
        'Source',
        'Schema',
        'Messages',
        'Rate',
        'Jitter',
        'Largest gap',
        'Clock',
        'Size',
        'Issues',
      ]}
    >
      {channels.map((channel) => (
        <ChannelRow key={channel.name} channel={channel} />
      ))}
    </Table>
  )
}

function ChannelRow({ channel }: { channel: Channel }) {
  return (
    <tr>
      <td style={{ maxWidth: 260 }}>
        <span style={{ display: 'flex', alignItems: 'center', gap: 8 }}>
          <span
            style={{
              width: 8,
              height: 8,
              borderRadius: 2,
              background: colourOfKind(channel.kind),
              flex: 'none',
            }}
          />
          <span className="clip" title={channel.name}>
            {channel.name}
          </span>
        </span>
      </td>
      <td style={{ maxWidth: 240 }}>
        <div className="clip mono" title={channel.source}>
          {channel.source}
        </div>
      </td>
      <td style={{ maxWidth: 200 }}>
        <div className="clip mono" title={`${channel.schema} (${channel.encoding})`}>
          {channel.schema || '–'}
        </div>
      </td>
      <td className="numbers">{formatCount(channel.message_count)}</td>
      <td className="numbers">{formatRate(channel.rate_hz)}</td>
      <td className="numbers">{channel.jitter_ns === null ? '–' : formatNs(channel.jitter_ns)}</td>
      <td className="numbers">{channel.largest_gap_ns === null ? '–' : formatNs(channel.largest_gap_ns)}</td>
      <td className="numbers">{describeClock(channel.clock)}</td>
      <td className="numbers">{formatBytes(channel.bytes)}</td>
      <td>
        <IssueCounts issues={channel.issues} />
      </td>
    </tr>
  )
}

function describeClock(clock: Channel['clock']): string {
  if (!clock) return '–'
  const offset = `${clock.offset_ns >= 0 ? '+' : ''}${formatNs(clock.offset_ns)}`
  const drift = clock.drift_ppm === null ? '' : `, ${clock.drift_ppm.toFixed(1)} ppm`
  return clock.kind === 'offset' || clock.kind === 'synchronised' ? `${offset}${drift}` : clock.kind
}
