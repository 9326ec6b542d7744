import { openRoster } from '../linear/roster.ts'
import { note, openTally, report } from '../linear/tally.ts'
import { type Instant, openTimeline } from '../linear/timeline.ts'
import type { Visitor } from '../recording.ts'
import { type Datagram, datagramIn } from './datagram.ts'

// Packets to messages: one channel for each UDP port that something was sent to, and `other` for the rest. The first
// fragment of a datagram stands for it, the others are counted into `other`.

export type Packet = {
  frame: Uint8Array
  linkType: number
  /** Undefined where the file does not tell. */
  time: Instant | undefined
  /** Bytes on the wire: more than were captured, where the capture cut them. */
  wireBytes: number
  /** Offset in the file. */
  at: number
}

export type Packets = {
  tell(packet: Packet): void
  now(): number | undefined
  /** Returns how many messages were told. */
  end(): number
}

export function openPackets(visitor: Visitor): Packets {
  const timeline = openTimeline(visitor)
  const roster = openRoster(visitor)
  const cut = openTally()
  const untimed = openTally()

  function channelOf(datagram: Datagram | undefined): number | undefined {
    const schemaData = new Uint8Array()
    return roster.channel(datagram ? `udp/${datagram.port}` : 'other', () => ({
      schema: datagram ? lidarPacket(datagram) : '',
      schemaEncoding: '',
      schemaData,
      encoding: 'pcap',
    }))
  }

  return {
    now: timeline.now,

    tell({ frame, linkType, time, wireBytes, at }) {
      const datagram = datagramIn(frame, linkType)
      const channel = channelOf(datagram)
      if (channel === undefined) return roster.turnAway(at)
      if (frame.length < wireBytes) note(cut, at, { bytes: wireBytes - frame.length, t: timeline.now() })
      const bytes = datagram?.bytes ?? frame.length
      const payload = datagram?.payload
      if (time) return timeline.tell({ channel, ...time, bytes, at, ...(payload && { payload }) })
      note(untimed, at, { t: timeline.now() })
      timeline.tellHere(channel, bytes, payload)
    },

    end() {
      timeline.end()
      roster.report(visitor)
      report(
        visitor,
        'messages_undecodable',
        cut,
        `${cut.count} packets were cut while capturing (snap length), the first at byte ${cut.at}; ${cut.bytes} bytes ` +
          'of them are missing',
        { value: cut.bytes },
      )
      report(
        visitor,
        'timestamp_invalid',
        untimed,
        `${untimed.count} packets were captured without a time (simple packet blocks), the first at byte ` +
          `${untimed.at}; they are told at the time of their neighbours, where there is one`,
      )
      return timeline.told()
    },
  }
}

/** What the makers of lidars send where nobody has changed the port. Hesai's packets begin with EE FF, on any. */
function lidarPacket({ port, bytes, payload }: Datagram): string {
  if (payload?.[0] === 0xee && payload[1] === 0xff) return 'hesai_data'
  if (port === 2368 && bytes === 1206) return 'velodyne_data'
  if (port === 8308 && bytes === 512) return 'velodyne_position'
  if (port === 7502) return 'ouster_lidar'
  if (port === 7503) return 'ouster_imu'
  return ''
}
