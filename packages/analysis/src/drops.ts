import { type FoundIssue, issue } from './issue.ts'
import { openPeriods } from './periods.ts'
import { thresholds } from './thresholds.ts'
import { ms } from './timing-checks.ts'

// Messages that were sent and not recorded, where that can be proven: by the counter of the publisher, or by stamps that
// lie on a grid and miss places of it. Times of recording prove nothing, since a message may also have waited.

export type Stamped = {
  t: number
  stamp: number
  /** How many messages of the channel came before this one: only neighbours are compared. */
  ordinal: number
  /** A counter of the publisher, where messages have one. */
  sequence: number | undefined
}

export type DropCheck = { see(message: Stamped): void; issues(): FoundIssue[] }

const { drops } = thresholds
type Missed = { count: number; seen: number; t: number | undefined; by: string }

export function openDropCheck(): DropCheck {
  const bySequence = openSequence()
  const byStamp = openGrid()
  let previous: Stamped | undefined
  return {
    see(message) {
      if (previous && message.ordinal === previous.ordinal + 1) {
        bySequence.step(previous, message)
        byStamp.step(previous, message)
      } else byStamp.restart()
      previous = message
    },
    issues() {
      const missed = bySequence.missed() ?? byStamp.missed()
      if (!missed || missed.count <= 0) return []
      const detail = `${missed.count} messages are missing between ${missed.seen} that were looked at, by ${missed.by}`
      return [issue('messages_dropped', { detail, t: missed.t, count: missed.count })]
    },
  }
}

function openSequence() {
  let [steps, single, missing, late]: [number, number, number, number] = [0, 0, 0, 0]
  let firstT: number | undefined
  return {
    step(before: Stamped, { sequence, t }: Stamped) {
      if (sequence === undefined || before.sequence === undefined) return
      const step = sequence - before.sequence
      steps++
      if (step === 1) single++
      else if (step < 0) late++
      else if (step > 1 && step <= drops.maxPeriods) {
        missing += step - 1
        firstT ??= t
      }
    },
    /** Undefined where the counter does not count: it stands still, or belongs to several publishers. */
    missed(): Missed | undefined {
      if (steps < drops.minSteps || single < steps * drops.regularShare) return undefined
      const by = 'the counter of their publisher'
      // One that comes late was not missing after all.
      return { count: missing - late, seen: steps + 1, t: firstT, by }
    },
  }
}

function openGrid() {
  const periods = openPeriods()
  /** The first steps that are longer than the one before: the grid is known only at the end. */
  const longer: { t: number; ns: number }[] = []
  let [highest, lastNs, late]: [number | undefined, number, number] = [undefined, 0, 0]

  function add(before: Stamped, { t, stamp }: Stamped, ns: number): void {
    // A stamp that moves on while the recorder's clock does not was set, not missed.
    if (t - before.t < ns * drops.minElapsedShare) return
    if (ns > lastNs * 1.5 && lastNs > 0 && longer.length < drops.keptSteps) longer.push({ t: stamp, ns })
    lastNs = ns
    periods.add(ns)
  }

  return {
    restart() {
      highest = undefined
    },
    step(before: Stamped, message: Stamped) {
      const from = highest ?? before.stamp
      const ns = message.stamp - from
      if (ns < 0) late++
      if (ns > 0) add(before, message, ns)
      highest = Math.max(from, message.stamp)
    },
    missed(): Missed | undefined {
      const steps = periods.sorted()
      const all = steps.reduce((sum, { count }) => sum + count, 0)
      const period = periods.median()
      if (period === undefined || all < drops.minSteps) return undefined
      const near = ({ ns }: { ns: number }) => Math.abs(ns - period) <= period * drops.tolerance
      const regular = steps.filter(near).reduce((sum, { count }) => sum + count, 0)
      if (regular < all * drops.regularShare) return undefined
      const isGap = ({ ns }: { ns: number }) => {
        const share = ns / period
        return (
          share > 1.5 && share <= drops.maxPeriods && Math.abs(share - Math.round(share)) <= drops.tolerance
        )
      }
      const missing = steps
        .filter(isGap)
        .reduce((sum, { ns, count }) => sum + Math.round((ns * count) / period) - count, 0)
      const by = `stamps that are ${ms(period)} apart otherwise`
      return { count: missing - late, seen: all + 1, t: longer.find(isGap)?.t, by }
    },
  }
}
