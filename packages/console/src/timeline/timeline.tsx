import { ActionIcon, Group, Text } from '@mantine/core'
import {
  type KeyboardEvent,
  type PointerEvent,
  useCallback,
  useEffect,
  useMemo,
  useRef,
  useState,
} from 'react'
import {
  drawHead,
  drawOverview,
  drawRows,
  HEAD_HEIGHT,
  overviewOf,
  ROW_HEIGHT,
  type Stretch,
  timeAt,
} from './draw.ts'
import { stepOf, useDrag, useWheel } from './gestures.ts'
import { describe, type Hover, HoverCard } from './hover.tsx'
import type { Lane, Note } from './lane.ts'
import { isSilent, type Recording } from './recording.ts'
import { prepare, useColours, useWidth } from './use-canvas.ts'
import { formatOffset, lengthOf, pan, type View, whole, zoom } from './view.ts'

// Where each channel has data, at what rate, and what is wrong with it, at its place. What is seen is drawn once for each
// frame, outside of React: a hundred channels move as one.

type Props = { recording: Recording; lanes: Lane[]; segments: Stretch[]; notes: Note[] }

const WIDE_LABELS = 260
const NARROW_LABELS = 130
const NARROW = 720
const OVERVIEW_HEIGHT = 38
const MOST_HEIGHT = 560

export function Timeline({ recording, lanes, segments, notes }: Props) {
  const [box, width] = useWidth<HTMLDivElement>()
  const rows = useRef<HTMLCanvasElement>(null)
  const head = useRef<HTMLCanvasElement>(null)
  const overview = useRef<HTMLCanvasElement>(null)
  const scroller = useRef<HTMLElement>(null)
  const view = useRef<View>(whole(recording.spanNs))
  const frame = useRef(0)
  const colours = useColours()
  const [hover, setHover] = useState<Hover>()
  const range = useRef<HTMLParagraphElement>(null)
  const height = Math.min(MOST_HEIGHT, lanes.length * ROW_HEIGHT)
  const labelWidth = width < NARROW ? NARROW_LABELS : WIDE_LABELS
  const plot = Math.max(0, width - labelWidth)
  const activity = useMemo(() => overviewOf(recording, plot), [recording, plot])

  const draw = useCallback(() => {
    frame.current = 0
    if (range.current) range.current.textContent = describeView(view.current)
    if (plot === 0 || !rows.current || !head.current || !overview.current) return
    const top = scroller.current?.scrollTop ?? 0
    const rowsContext = prepare(rows.current, plot, height)
    const headContext = prepare(head.current, plot, HEAD_HEIGHT)
    const overviewContext = prepare(overview.current, plot, OVERVIEW_HEIGHT)
    if (!rowsContext || !headContext || !overviewContext) return
    drawRows(rowsContext, recording, lanes, view.current, { width: plot, height, top }, colours)
    drawHead(headContext, segments, notes, view.current, plot, colours)
    const size = { width: plot, height: OVERVIEW_HEIGHT }
    drawOverview(overviewContext, activity, recording, view.current, size, colours)
  }, [plot, height, recording, lanes, segments, notes, colours, activity])

  const redraw = useCallback(() => {
    if (frame.current === 0) frame.current = requestAnimationFrame(draw)
  }, [draw])

  const look = useCallback(
    (to: View) => {
      view.current = to
      setHover(undefined)
      redraw()
    },
    [redraw],
  )

  useEffect(() => {
    redraw()
    return () => {
      cancelAnimationFrame(frame.current)
      frame.current = 0
    }
  }, [redraw])

  useWheel(scroller, (event, x) => {
    const around = timeAt(x - labelWidth, view.current, plot)
    if (event.ctrlKey || event.metaKey)
      look(zoom(view.current, Math.exp(-event.deltaY / 180), around, recording.spanNs))
    else
      look(
        pan(view.current, ((event.deltaX || event.deltaY) / plot) * lengthOf(view.current), recording.spanNs),
      )
  })

  const drag = useDrag((dx) =>
    look(pan(view.current, (-dx / plot) * lengthOf(view.current), recording.spanNs)),
  )
  const goTo = (event: PointerEvent<HTMLCanvasElement>) => {
    if (event.buttons === 0) return
    const middle = (event.nativeEvent.offsetX / plot) * recording.spanNs
    look(pan(view.current, middle - (view.current.fromNs + view.current.toNs) / 2, recording.spanNs))
  }
  const onKey = (event: KeyboardEvent) => {
    const next = stepOf(event.key, view.current, recording.spanNs)
    if (!next) return
    event.preventDefault()
    look(next)
  }
  const point = (event: PointerEvent<HTMLElement>) => {
    if (event.buttons !== 0) return
    const bounds = event.currentTarget.getBoundingClientRect()
    const [x, y] = [
      event.clientX - bounds.left,
      event.clientY - bounds.top + (scroller.current?.scrollTop ?? 0),
    ]
    setHover(describe(recording, lanes, view.current, plot, x, y, event.clientY - bounds.top))
  }
  const nearer = (factor: number) =>
    look(zoom(view.current, factor, (view.current.fromNs + view.current.toNs) / 2, recording.spanNs))
  // Made once, and not for every frame.
  const labels = useMemo(() => lanes.map((lane) => <LaneLabel key={lane.row.name} lane={lane} />), [lanes])

  return (
    <div className="card" style={{ overflow: 'hidden' }} ref={box} data-testid="timeline">
      <Group justify="space-between" px="sm" py={6} style={{ borderBottom: '1px solid var(--line)' }}>
        <Text size="xs" c="dimmed" className="numbers" data-testid="timeline-range" ref={range} />
        <Group gap={4}>
          <Text size="xs" c="dimmed" visibleFrom="md" mr="xs">
            drag or shift-scroll to move, ctrl-scroll to zoom, arrows and + −
          </Text>
          <ViewButton label="Zoom out" onClick={() => nearer(0.5)}>
            −
          </ViewButton>
          <ViewButton label="Zoom in" onClick={() => nearer(2)}>
            +
          </ViewButton>
          <ViewButton label="Show all" onClick={() => look(whole(recording.spanNs))}>
            ⤢
          </ViewButton>
        </Group>
      </Group>
      <div style={{ display: 'flex', borderBottom: '1px solid var(--line)' }}>
        <Labels width={labelWidth}>whole recording</Labels>
        <canvas
          ref={overview}
          style={{ width: plot, height: OVERVIEW_HEIGHT, cursor: 'ew-resize', touchAction: 'none' }}
          onPointerDown={goTo}
          onPointerMove={goTo}
          role="img"
          aria-label="The whole recording"
        />
      </div>
      <div style={{ display: 'flex', borderBottom: '1px solid var(--line)' }}>
        <Labels width={labelWidth}>
          <span style={{ alignSelf: 'flex-end', paddingBottom: 5 }}>segments</span>
        </Labels>
        <canvas ref={head} style={{ width: plot, height: HEAD_HEIGHT }} role="img" aria-label="Segments" />
      </div>
      <section
        ref={scroller}
        style={{ height, overflowY: 'auto', overflowX: 'hidden', position: 'relative' }}
        onScroll={redraw}
        onKeyDown={onKey}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it is moved and zoomed by keyboard
        tabIndex={0}
        aria-label={`Timeline of ${lanes.length} channels. The table of channels below says the same in words.`}
      >
        <div style={{ height: lanes.length * ROW_HEIGHT, display: 'flex' }}>
          <div style={{ width: labelWidth, flex: 'none', borderRight: '1px solid var(--line)' }}>
            {labels}
          </div>
          <div style={{ position: 'sticky', top: 0, height, flex: 'none' }}>
            <canvas
              ref={rows}
              style={{ width: plot, height, cursor: 'grab', touchAction: 'pan-y' }}
              {...drag}
              onPointerMove={(event) => {
                drag.onPointerMove(event)
                point(event)
              }}
              onPointerLeave={() => setHover(undefined)}
              onDoubleClick={(event) =>
                look(
                  zoom(
                    view.current,
                    4,
                    timeAt(event.nativeEvent.offsetX, view.current, plot),
                    recording.spanNs,
                  ),
                )
              }
              role="img"
              aria-label="Channels over time"
            />
            {hover && <HoverCard hover={hover} plot={plot} />}
          </div>
        </div>
      </section>
    </div>
  )
}

function ViewButton({ label, onClick, children }: { label: string; onClick: () => void; children: string }) {
  return (
    <ActionIcon variant="default" size="sm" aria-label={label} onClick={onClick}>
      {children}
    </ActionIcon>
  )
}

function Labels({ width, children }: { width: number; children: React.ReactNode }) {
  return (
    <Text
      size="xs"
      c="dimmed"
      component="div"
      style={{ width, flex: 'none', display: 'flex', alignItems: 'center', paddingInline: 12 }}
    >
      {children}
    </Text>
  )
}

function LaneLabel({ lane }: { lane: Lane }) {
  return (
    <div
      title={lane.label}
      style={{
        height: ROW_HEIGHT,
        display: 'flex',
        alignItems: 'center',
        gap: 8,
        paddingInline: 12,
        fontSize: 12,
      }}
    >
      <span style={{ width: 8, height: 8, borderRadius: 2, background: lane.colour, flex: 'none' }} />
      <span className="clip" style={{ color: isSilent(lane.row) ? 'var(--muted)' : undefined }}>
        {lane.label}
        {isSilent(lane.row) && ' (no messages)'}
      </span>
    </div>
  )
}

function describeView(view: View): string {
  return `${formatOffset(view.fromNs, view)} – ${formatOffset(view.toNs, view)}`
}
