import { formatRate } from '../parts/format.ts'
import { placeOf, ROW_HEIGHT, timeAt } from './draw.ts'
import type { Lane, Note } from './lane.ts'
import { countBetween, type Recording } from './recording.ts'
import { formatOffset, lengthOf, type View } from './view.ts'

/** What is under the pointer. */
export type Hover = {
  x: number
  y: number
  time: string
  label: string
  rate: string
  note: Note | undefined
}

const NEAR_PIXELS = 8

export function describe(
  recording: Recording,
  lanes: Lane[],
  view: View,
  plot: number,
  x: number,
  y: number,
  yOnScreen: number,
): Hover | undefined {
  const lane = lanes[Math.floor(y / ROW_HEIGHT)]
  if (!lane || x < 0 || x > plot) return undefined
  const at = timeAt(x, view, plot)
  // Over as much as five pixels, and one second, so that the rate is one.
  const halfNs = Math.max((2.5 / plot) * lengthOf(view), 5e8)
  const [from, to] = [(at - halfNs) / recording.binNs, (at + halfNs) / recording.binNs]
  const hz = countBetween(lane.row, from, to) / ((2 * halfNs) / 1e9)
  const note = lane.notes.find(({ atNs }) => Math.abs(placeOf(atNs, view, plot) - x) < NEAR_PIXELS)
  return { x, y: yOnScreen, time: formatOffset(at, view), label: lane.label, rate: formatRate(hz), note }
}

export function HoverCard({ hover, plot }: { hover: Hover; plot: number }) {
  const isRight = hover.x > plot / 2
  return (
    <>
      <div
        style={{
          position: 'absolute',
          left: hover.x,
          top: 0,
          bottom: 0,
          width: 1,
          background: 'var(--muted)',
          opacity: 0.5,
          pointerEvents: 'none',
        }}
      />
      <div
        className="card"
        style={{
          position: 'absolute',
          top: Math.max(0, hover.y - 34),
          [isRight ? 'right' : 'left']: isRight ? plot - hover.x + 12 : hover.x + 12,
          padding: '6px 10px',
          maxWidth: 320,
          fontSize: 12,
          pointerEvents: 'none',
          boxShadow: 'var(--mantine-shadow-md)',
          zIndex: 5,
        }}
      >
        <div className="clip">{hover.label}</div>
        <div className="numbers" style={{ color: 'var(--muted)' }}>
          {hover.time} · {hover.rate}
        </div>
        {hover.note && (
          <div style={{ marginTop: 4 }} className="wrap">
            <strong>{hover.note.title}</strong>
            <div>{hover.note.detail}</div>
          </div>
        )}
      </div>
    </>
  )
}
