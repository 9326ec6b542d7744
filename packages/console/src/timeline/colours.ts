import type { Channel } from '@tapedeck/contract'

/** Read from the page when it is drawn, so that a canvas follows the theme. */
export type Colours = {
  text: string
  muted: string
  line: string
  surface: string
  page: string
  good: string
  warn: string
  bad: string
  badSoft: string
  busySoft: string
  accent: string
  strip: string
}

export function readColours(element: Element): Colours {
  const style = getComputedStyle(element)
  const read = (name: string) => style.getPropertyValue(name).trim()
  return {
    text: style.color,
    muted: read('--muted'),
    line: read('--line'),
    surface: read('--surface'),
    page: getComputedStyle(document.body).backgroundColor,
    good: read('--good'),
    warn: read('--warn'),
    bad: read('--bad'),
    badSoft: read('--bad-soft'),
    busySoft: read('--busy-soft'),
    accent: read('--busy'),
    strip: read('--strip'),
  }
}

const hues: Record<Channel['kind'], string> = {
  camera: '#5b7cf7',
  depth: '#4a9bd9',
  lidar: '#2fa88f',
  radar: '#4caf6d',
  imu: '#d28a2e',
  gps: '#5aa84a',
  joints: '#b06fd8',
  pose: '#8d6fe8',
  odometry: '#7a7ff0',
  transforms: '#8a93a6',
  wrench: '#cf6f9d',
  command: '#d8704f',
  audio: '#c65fc0',
  diagnostics: '#9a8f6a',
  log: '#8a93a6',
  map: '#3f9fae',
  event: '#d0a12b',
  table: '#6f8fae',
  other: '#8a93a6',
}

/** One colour for each kind of sensor, good on light and dark. */
export function colourOfKind(kind: string): string {
  return Object.hasOwn(hues, kind) ? hues[kind as Channel['kind']] : hues.other
}
