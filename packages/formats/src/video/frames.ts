import { note, openTally, type Tally } from '../linear/tally.ts'
import type { ChannelInfo, Visitor } from '../recording.ts'

// Frames stand in the file in the order in which they are decoded, and are told in the order in which they are shown:
// a frame that refers to a later one (a B-frame) stands behind it. Codecs reorder over 16 frames at most.

const REORDER_FRAMES = 32
const EMPTY = new Uint8Array()

export type Frames = {
  /** As `Visitor.channel` numbered it. */
  channel: number
  /** One frame, in the order of decoding. */
  frame(t: number, bytes: number): void
  /** What was held back for reordering; to be called once, after the last frame. */
  end(): void
  told(): number
  /** Frames that would have been told if the end of the file were there. */
  lost: Tally
  /** Frames that lie too far from the origin to be told. */
  untimely: Tally
}

export type Stream = { topic: string; codec: string; declaredRateHz: number | undefined }

export function openFrames(visitor: Visitor, stream: Stream): Frames {
  const channel = visitor.channel(channelInfo(stream))
  const untimely = openTally()
  const held: { t: number; bytes: number }[] = []
  let told = 0

  const tell = ({ t, bytes }: { t: number; bytes: number }) => {
    told++
    visitor.message(channel, t, bytes)
  }
  return {
    channel,
    frame(t, bytes) {
      if (!(Math.abs(t) <= Number.MAX_SAFE_INTEGER)) return note(untimely, 0)
      let place = held.length
      while (place > 0 && (held[place - 1]?.t ?? 0) > t) place--
      held.splice(place, 0, { t, bytes })
      const first = held.length > REORDER_FRAMES ? held.shift() : undefined
      if (first) tell(first)
    },
    end() {
      for (const frame of held.splice(0)) tell(frame)
    },
    told: () => told,
    lost: openTally(),
    untimely,
  }
}

function channelInfo({ topic, codec, declaredRateHz }: Stream): ChannelInfo {
  return {
    topic,
    schema: codec,
    schemaEncoding: '',
    schemaData: EMPTY,
    encoding: codec,
    ...(declaredRateHz !== undefined && { declaredRateHz }),
  }
}

/** Exact to the nanosecond, though `ticks` in nanoseconds may be more than a number holds. */
export function ticksToNs(ticks: number, timescale: number): number {
  const seconds = Math.floor(ticks / timescale)
  return seconds * 1e9 + Math.round(((ticks - seconds * timescale) * 1e9) / timescale)
}

/** `video/1`, `audio/1`: tracks of a kind are numbered in the order of the file. */
export function openTopics(): (kind: 'video' | 'audio' | 'data') => string {
  const counts = { video: 0, audio: 0, data: 0 }
  return (kind) => `${kind}/${++counts[kind]}`
}
