import type { Colours } from './colours.ts'
import { activityOf, countBetween, type Recording, type Row } from './recording.ts'
import { formatOffset, ticks, type View } from './view.ts'

// Everything that is drawn, on canvases whose unit is one pixel of the page. Only what is seen is drawn.

export const ROW_HEIGHT = 25
export const BAR_HEIGHT = 18
export const HEAD_HEIGHT = 44
const SEGMENT_TOP = 24
const SEGMENT_HEIGHT = 16

export type Mark = { atNs: number; severity: 'info' | 'warning' | 'error' }
export type Stretch = { fromNs: number; toNs: number; label: string; isMarked: boolean }

export type RowLook = { row: Row; colour: string; marks: Mark[] }

/** The channels between two heights of the list. */
export function drawRows(
  context: CanvasRenderingContext2D,
  recording: Recording,
  looks: RowLook[],
  view: View,
  { width, height, top }: { width: number; height: number; top: number },
  colours: Colours,
): void {
  context.clearRect(0, 0, width, height)
  drawGrid(context, view, width, height, colours)
  const first = Math.max(0, Math.floor(top / ROW_HEIGHT))
  const last = Math.min(looks.length, Math.ceil((top + height) / ROW_HEIGHT))
  for (let index = first; index < last; index++) {
    const look = looks[index]
    if (!look) continue
    const base = index * ROW_HEIGHT - top + ROW_HEIGHT - (ROW_HEIGHT - BAR_HEIGHT) / 2
    drawGaps(context, recording, look.row, view, width, base, colours)
    drawBars(context, recording, look, view, width, base)
    for (const mark of look.marks) drawMark(context, placeOf(mark.atNs, view, width), base, mark, colours)
  }
}

function drawGrid(
  context: CanvasRenderingContext2D,
  view: View,
  width: number,
  height: number,
  colours: Colours,
): void {
  context.fillStyle = colours.line
  for (const at of ticks(view, width / 110))
    context.fillRect(Math.round(placeOf(at, view, width)), 0, 1, height)
}

/** One column for each pixel; neighbours of one height are one rectangle. */
function drawBars(
  context: CanvasRenderingContext2D,
  { binNs }: Recording,
  { row, colour }: RowLook,
  view: View,
  width: number,
  base: number,
): void {
  context.fillStyle = colour
  const binsPerPixel = (view.toNs - view.fromNs) / binNs / width
  const first = view.fromNs / binNs
  const full = row.fullHz === undefined ? 0 : (row.fullHz * binsPerPixel * binNs) / 1e9
  let height = 0
  let from = 0
  for (let x = 0; x <= width; x++) {
    const here = x < width ? barHeight(row, first + x * binsPerPixel, binsPerPixel, full) : -1
    if (here === height) continue
    if (height > 0) context.fillRect(from, base - height, x - from, height)
    height = here
    from = x
  }
}

function barHeight(row: Row, bin: number, bins: number, full: number): number {
  const count = countBetween(row, bin, bin + bins)
  if (count <= 0) return 0
  return Math.max(2, Math.round(BAR_HEIGHT * Math.min(1, count / full)))
}

function drawGaps(
  context: CanvasRenderingContext2D,
  { binNs }: Recording,
  { gaps }: Row,
  view: View,
  width: number,
  base: number,
  colours: Colours,
): void {
  for (let index = 0; index < gaps.length; index += 2) {
    const from = placeOf((gaps[index] ?? 0) * binNs, view, width)
    const to = placeOf((gaps[index + 1] ?? 0) * binNs, view, width)
    if (to < 0 || from > width) continue
    context.fillStyle = colours.badSoft
    context.fillRect(from, base - BAR_HEIGHT, Math.max(2, to - from), BAR_HEIGHT)
    context.fillStyle = colours.bad
    context.fillRect(from, base - 1, Math.max(2, to - from), 1)
  }
}

function drawMark(
  context: CanvasRenderingContext2D,
  x: number,
  base: number,
  { severity }: Mark,
  colours: Colours,
): void {
  const y = base - BAR_HEIGHT / 2
  context.fillStyle =
    severity === 'error' ? colours.bad : severity === 'warning' ? colours.warn : colours.muted
  context.strokeStyle = colours.page
  context.lineWidth = 1.5
  context.beginPath()
  context.moveTo(x, y - 6)
  context.lineTo(x + 5, y)
  context.lineTo(x, y + 6)
  context.lineTo(x - 5, y)
  context.closePath()
  context.fill()
  context.stroke()
}

/** The axis, and the segments as a strip below it. */
export function drawHead(
  context: CanvasRenderingContext2D,
  segments: Stretch[],
  marks: Mark[],
  view: View,
  width: number,
  colours: Colours,
): void {
  context.clearRect(0, 0, width, HEAD_HEIGHT)
  context.font = '11px ui-monospace, Menlo, Consolas, monospace'
  context.textBaseline = 'top'
  for (const at of ticks(view, width / 110)) {
    const x = Math.round(placeOf(at, view, width))
    context.fillStyle = colours.line
    context.fillRect(x, 14, 1, HEAD_HEIGHT)
    context.fillStyle = colours.muted
    const text = formatOffset(at, view)
    context.fillText(text, Math.min(x + 3, width - context.measureText(text).width), 2)
  }
  for (const [index, segment] of segments.entries())
    drawSegment(context, segment, index, view, width, colours)
  for (const mark of marks) {
    const x = placeOf(mark.atNs, view, width)
    if (x >= -6 && x <= width + 6) drawMark(context, x, 22, mark, colours)
  }
}

function drawSegment(
  context: CanvasRenderingContext2D,
  { fromNs, toNs, label, isMarked }: Stretch,
  index: number,
  view: View,
  width: number,
  colours: Colours,
): void {
  const from = Math.max(0, placeOf(fromNs, view, width))
  const to = Math.min(width, placeOf(toNs, view, width))
  if (to < 0 || from > width) return
  context.fillStyle = isMarked ? colours.badSoft : index % 2 === 0 ? colours.busySoft : colours.line
  context.fillRect(from, SEGMENT_TOP, Math.max(1, to - from - 1), SEGMENT_HEIGHT)
  const text = label || String(index + 1)
  context.fillStyle = isMarked ? colours.bad : colours.accent
  if (context.measureText(text).width + 8 < to - from) context.fillText(text, from + 4, SEGMENT_TOP + 3)
}

/** The whole recording at once, with the part that is seen. */
export function drawOverview(
  context: CanvasRenderingContext2D,
  activity: Float32Array,
  recording: Recording,
  view: View,
  { width, height }: { width: number; height: number },
  colours: Colours,
): void {
  context.clearRect(0, 0, width, height)
  context.fillStyle = colours.strip
  for (let x = 0; x < activity.length; x++) {
    const bar = Math.round((height - 6) * (activity[x] ?? 0))
    if (bar > 0) context.fillRect(x, height - 3 - bar, 1, bar)
  }
  const span = Math.max(recording.spanNs, view.toNs - view.fromNs)
  const [from, to] = [(view.fromNs / span) * width, (view.toNs / span) * width]
  context.fillStyle = colours.page
  context.globalAlpha = 0.72
  context.fillRect(0, 0, from, height)
  context.fillRect(to, 0, width - to, height)
  context.globalAlpha = 1
  context.strokeStyle = colours.accent
  context.lineWidth = 1.5
  context.strokeRect(from + 0.75, 0.75, Math.max(3, to - from - 1.5), height - 1.5)
}

export function overviewOf(recording: Recording, width: number): Float32Array {
  return activityOf(recording, 0, recording.binCount, Math.max(1, Math.round(width)))
}

export function placeOf(atNs: number, { fromNs, toNs }: View, width: number): number {
  return ((atNs - fromNs) / (toNs - fromNs)) * width
}

export function timeAt(x: number, { fromNs, toNs }: View, width: number): number {
  return fromNs + (x / width) * (toNs - fromNs)
}
