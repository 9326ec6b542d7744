import type { Colours } from './colours.ts'
import { openPixels, type Pixels, packColour } from './pixels.ts'
import { activityOf, countBefore, type Recording, type Row } from './recording.ts'
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

/** The channels between two heights of the list: bars first, as pixels, and behind them what lies behind. */
export function drawRows(
  context: CanvasRenderingContext2D,
  recording: Recording,
  looks: RowLook[],
  view: View,
  { width, height, top }: { width: number; height: number; top: number },
  colours: Colours,
): void {
  const first = Math.max(0, Math.floor(top / ROW_HEIGHT))
  const seen = looks.slice(first, Math.ceil((top + height) / ROW_HEIGHT))
  const baseOf = (index: number) =>
    (first + index) * ROW_HEIGHT - top + ROW_HEIGHT - (ROW_HEIGHT - BAR_HEIGHT) / 2
  const pixels = openPixels(context)
  for (const [index, look] of seen.entries()) paintBars(pixels, recording, look, view, width, baseOf(index))
  pixels.show()
  context.globalCompositeOperation = 'destination-over'
  for (const [index, { row }] of seen.entries())
    drawGaps(context, recording, row, view, width, baseOf(index), colours)
  drawGrid(context, view, width, height, colours)
  context.globalCompositeOperation = 'source-over'
  for (const [index, { marks }] of seen.entries()) {
    for (const mark of marks) drawMark(context, placeOf(mark.atNs, view, width), baseOf(index), mark, colours)
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

/** One column for each pixel of the screen, written as pixels: tens of thousands of rectangles would take a frame. */
function paintBars(
  pixels: Pixels,
  { binNs }: Recording,
  { row, colour }: RowLook,
  view: View,
  width: number,
  base: number,
): void {
  const scale = pixels.width / width
  const bottom = Math.round(base * scale)
  const tallest = Math.round(BAR_HEIGHT * scale)
  const paint = packColour(colour)
  const bins = (view.toNs - view.fromNs) / binNs / pixels.width
  const first = view.fromNs / binNs
  const full = row.fullHz === undefined ? 0 : (row.fullHz * bins * binNs) / 1e9
  let before = countBefore(row, first)
  for (let x = 0; x < pixels.width; x++) {
    const after = countBefore(row, first + (x + 1) * bins)
    const count = after - before
    before = after
    if (count <= 0) continue
    const tall = Math.max(2, Math.round(tallest * Math.min(1, count / full)))
    const to = Math.min(bottom, pixels.height)
    for (let y = Math.max(0, bottom - tall); y < to; y++) pixels.data[y * pixels.width + x] = paint
  }
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
