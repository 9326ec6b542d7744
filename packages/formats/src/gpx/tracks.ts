import { cleanText } from '../bytes.ts'
import { parseIsoTime } from '../iso-time.ts'
import { openRoster } from '../linear/roster.ts'
import type { Block } from '../linear/sweep.ts'
import { note, openTally, report } from '../linear/tally.ts'
import { openTimeline } from '../linear/timeline.ts'
import { MAX_TOPIC_CHARACTERS, type Visitor } from '../recording.ts'
import { MAX_ELEMENT_BYTES, nextTag, plainText, type Tag } from './elements.ts'

export type Tracks = {
  /** Reads what is complete of a block; returns how many bytes that is. */
  eat(block: Block): number
  end(): { told: number; isWhole: boolean; wasDamaged: boolean }
}

/** A track or a route, while it is open. */
type Line = { kind: string; name: string; topic: string | undefined }

const lineOf: Record<string, string> = { trk: 'track', rte: 'route' }
const points = new Set(['trkpt', 'rtept', 'wpt'])

export function openTracks(visitor: Visitor): Tracks {
  const timeline = openTimeline(visitor)
  const roster = openRoster(visitor)
  const counts = new Map<string, number>()
  const topics = new Set<string>()
  const untimed = openTally()
  const broken = openTally()
  let line: Line | undefined
  let isWhole = false

  function eat(block: Block): number {
    let at = 0
    for (;;) {
      const tag = nextTag(block, at)
      if (typeof tag === 'number') return tag
      if (!tag) return block.bytes.length
      const end = element(block, tag)
      if (end === 'more') return tag.at
      at = end
    }
  }

  /** Index behind what was read of the element that begins with this tag. */
  function element(block: Block, tag: Tag): number | 'more' {
    if (points.has(tag.name)) return point(block, tag)
    if (tag.name === 'name' && line && line.topic === undefined) return lineName(block, tag, line)
    const kind = lineOf[tag.name]
    if (kind !== undefined && !tag.selfClosing) beginLine(kind)
    else if (tag.name === '/trk' || tag.name === '/rte') line = undefined
    else if (tag.name === '/gpx' || (tag.name === 'gpx' && tag.selfClosing)) isWhole = true
    else if (tag.name.startsWith('/') && points.has(tag.name.slice(1))) note(broken, block.offset + tag.at)
    return tag.end
  }

  function beginLine(kind: string) {
    const number = (counts.get(kind) ?? 0) + 1
    counts.set(kind, number)
    line = { kind, name: `${kind} ${number}`, topic: undefined }
    timeline.restart()
  }

  function lineName(block: Block, tag: Tag, open: Line): number | 'more' {
    const close = tag.selfClosing ? tag : nextTag(block, tag.end)
    const mayCome = !block.last && block.bytes.length - tag.at < MAX_ELEMENT_BYTES
    if (typeof close === 'number' || !close) return mayCome ? 'more' : tag.end
    if (close.name !== '/name') return tag.end
    const name = plainText(block.bytes, tag.end, close.at)
    if (name !== '') open.name = name
    return close.end
  }

  function point(block: Block, open: Tag): number | 'more' {
    const { bytes, offset, last } = block
    let end = open.end
    let time: string | undefined
    let name = ''
    for (let before = open; !open.selfClosing; ) {
      const tag = nextTag(block, before.end)
      if (typeof tag === 'number' || !tag) {
        if (!last && bytes.length - open.at < MAX_ELEMENT_BYTES) return 'more'
        if (!last) note(broken, offset + open.at, { t: timeline.now() })
        return open.end
      }
      if (points.has(tag.name) || tag.name === '/gpx' || tag.name === '/trk' || tag.name === '/rte') {
        // The point was never closed: the one behind it may be good.
        note(broken, offset + open.at, { t: timeline.now() })
        return tag.at
      }
      end = tag.end
      if (tag.name === `/${open.name}`) break
      if (tag.name === '/time') time ??= plainText(bytes, before.end, tag.at)
      if (tag.name === '/name') name ||= plainText(bytes, before.end, tag.at)
      before = tag
    }
    tellPoint({ at: offset + open.at, kind: open.name, time, name, payload: bytes.subarray(open.at, end) })
    return end
  }

  function tellPoint(told: {
    at: number
    kind: string
    time: string | undefined
    name: string
    payload: Uint8Array
  }) {
    const { at, kind, payload } = told
    const instant = told.time === undefined ? undefined : parseIsoTime(told.time)
    if (!instant) return note(untimed, at, { t: timeline.now() })
    const channel = roster.channel(kind === 'wpt' ? 'waypoints' : lineTopic(), () => ({
      schema: kind,
      schemaEncoding: '',
      schemaData: new Uint8Array(),
      encoding: 'gpx',
    }))
    if (channel === undefined) return roster.turnAway(at)
    const label = cleanText(Buffer.from(told.name), MAX_TOPIC_CHARACTERS)
    // Waypoints are in no order, so none vouches for another.
    if (kind === 'wpt') timeline.restart()
    const isMark = kind === 'wpt' && label !== ''
    timeline.tell({ channel, ...instant, bytes: payload.length, at, payload, ...(isMark && { label }) })
  }

  /** Two tracks may have the same name; their topics differ. */
  function lineTopic(): string {
    if (!line) beginLine('track')
    if (!line) return ''
    if (line.topic !== undefined) return line.topic
    const name = cleanText(Buffer.from(line.name), MAX_TOPIC_CHARACTERS - 12)
    line.topic =
      topics.has(name) || name === 'waypoints' ? `${name} (${line.kind} ${counts.get(line.kind)})` : name
    if (topics.size < 10_000) topics.add(line.topic)
    return line.topic
  }

  return {
    eat,
    end() {
      timeline.end()
      roster.report(visitor)
      report(
        visitor,
        'timestamp_invalid',
        untimed,
        `${untimed.count} points have no time that can be read, the first at byte ${untimed.at}; they are not counted`,
      )
      report(
        visitor,
        'chunk_corrupt',
        broken,
        `${broken.count} points are not opened or not closed, the first at byte ${broken.at}; they are lost`,
      )
      return { told: timeline.told(), isWhole, wasDamaged: broken.count > 0 }
    },
  }
}
