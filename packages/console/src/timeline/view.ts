// What part of the recording is seen, in nanoseconds from its beginning.

export type View = { fromNs: number; toNs: number }

const LEAST_NS = 1e6

export function whole(spanNs: number): View {
  return { fromNs: 0, toNs: Math.max(spanNs, LEAST_NS) }
}

/** Nearer by a factor above 1, farther by one below, around a place that stays where it is. */
export function zoom(view: View, factor: number, aroundNs: number, spanNs: number): View {
  const least = Math.min(LEAST_NS, spanNs)
  const length = Math.min(Math.max((view.toNs - view.fromNs) / factor, least), whole(spanNs).toNs)
  const share = (aroundNs - view.fromNs) / (view.toNs - view.fromNs)
  return keepInside({ fromNs: aroundNs - share * length, toNs: aroundNs + (1 - share) * length }, spanNs)
}

export function pan(view: View, byNs: number, spanNs: number): View {
  return keepInside({ fromNs: view.fromNs + byNs, toNs: view.toNs + byNs }, spanNs)
}

export function lengthOf({ fromNs, toNs }: View): number {
  return toNs - fromNs
}

function keepInside({ fromNs, toNs }: View, spanNs: number): View {
  const { toNs: end } = whole(spanNs)
  const length = Math.min(toNs - fromNs, end)
  const from = Math.min(Math.max(0, fromNs), end - length)
  return { fromNs: from, toNs: from + length }
}

const steps = [1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14_400, 43_200, 86_400]

/** Round times for the axis, about so many. */
export function ticks({ fromNs, toNs }: View, wanted: number): number[] {
  const seconds = (toNs - fromNs) / 1e9 / Math.max(1, wanted)
  const step =
    (seconds < 1
      ? roundBelow(seconds)
      : (steps.find((candidate) => candidate >= seconds) ?? roundBelow(seconds))) * 1e9
  const found: number[] = []
  for (let at = Math.ceil(fromNs / step) * step; at <= toNs; at += step) found.push(at)
  return found
}

function roundBelow(seconds: number): number {
  const size = 10 ** Math.floor(Math.log10(seconds))
  return [1, 2, 5, 10].map((factor) => factor * size).find((candidate) => candidate >= seconds) ?? seconds
}

/** `1:02:03.450`, with as many digits as the view needs. */
export function formatOffset(ns: number, view: View): string {
  const spanS = (view.toNs - view.fromNs) / 1e9
  const digits = spanS > 20 ? 0 : spanS > 2 ? 1 : spanS > 0.2 ? 2 : spanS > 0.02 ? 3 : 4
  // Rounded first: 59.99 s are a minute, and not sixty seconds.
  const seconds = Math.round((ns / 1e9) * 10 ** digits) / 10 ** digits
  const whole = Math.floor(seconds)
  const rest = (seconds % 60).toFixed(digits).padStart(digits === 0 ? 2 : 3 + digits, '0')
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor((whole % 3600) / 60)]
  return hours > 0 ? `${hours}:${String(minutes).padStart(2, '0')}:${rest}` : `${minutes}:${rest}`
}
