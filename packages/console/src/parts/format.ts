// Numbers and times as people read them.

export function formatBytes(bytes: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB']
  let value = bytes
  let unit = 0
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1000
    unit++
  }
  return `${unit === 0 ? value : threeDigits(value)} ${units[unit]}`
}

export function formatCount(count: number | bigint): string {
  return count.toLocaleString('en-US')
}

export function formatRate(hz: number | null): string {
  if (hz === null) return '–'
  return hz >= 1000 ? `${threeDigits(hz / 1000)} kHz` : `${threeDigits(hz)} Hz`
}

export function formatDuration(seconds: number | null): string {
  if (seconds === null) return '–'
  if (seconds < 1) return `${threeDigits(seconds * 1000)} ms`
  if (seconds < 60) return `${threeDigits(seconds)} s`
  const whole = Math.round(seconds)
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor((whole % 3600) / 60)]
  return hours > 0 ? `${hours} h ${minutes} min` : `${minutes} min ${whole % 60} s`
}

/** Of any size, with its sign. */
export function formatNs(ns: number): string {
  const size = Math.abs(ns)
  const sign = ns < 0 ? '−' : ''
  if (size < 1e3) return `${sign}${threeDigits(size)} ns`
  if (size < 1e6) return `${sign}${threeDigits(size / 1e3)} µs`
  if (size < 1e9) return `${sign}${threeDigits(size / 1e6)} ms`
  return `${sign}${formatDuration(size / 1e9)}`
}

function threeDigits(value: number): string {
  if (value === 0) return '0'
  if (value >= 100) return value.toFixed(0)
  return String(Number(value.toPrecision(3)))
}

const day = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', year: 'numeric' })
const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' })

export function formatTime(iso: string): string {
  const date = new Date(iso)
  return `${day.format(date)}, ${clock.format(date)}`
}

export function formatAgo(iso: string, nowMs: number): string {
  const seconds = Math.max(0, (nowMs - Date.parse(iso)) / 1000)
  if (seconds < 45) return 'just now'
  if (seconds < 3600) return `${Math.max(1, Math.round(seconds / 60))} min ago`
  if (seconds < 86_400) return `${Math.round(seconds / 3600)} h ago`
  if (seconds < 7 * 86_400) return `${Math.round(seconds / 86_400)} d ago`
  return day.format(new Date(iso))
}
