import type { ChannelTimes } from './channel-stats.ts'
import { thresholds } from './thresholds.ts'

// Where a recording begins and ends, whatever single stamps say.

export type Range = { start: number; end: number }

type Judged = { times: ChannelTimes; latched: boolean }

/** From the first to the last message of all channels that tell; latched ones count only where nothing else does. */
export function rangeOf(channels: Judged[]): Range | undefined {
  const told = channels.filter(({ times }) => times.count > times.outliers.count)
  const live = told.filter(({ latched, times }) => !latched && times.count > 1)
  return bulk(live.length > 0 ? live : told)
}

/** Channels far away from where most messages are (unset stamps, another clock) do not stretch the recording. */
function bulk(channels: Judged[]): Range | undefined {
  const sorted = [...channels].sort((a, b) => a.times.first - b.times.first)
  const groups: { start: number; end: number; count: number }[] = []
  for (const { times } of sorted) {
    const group = groups.at(-1)
    if (group && times.first - group.end <= thresholds.outlierNs) {
      group.end = Math.max(group.end, times.last)
      group.count += times.count
    } else {
      groups.push({ start: times.first, end: times.last, count: times.count })
    }
  }
  const largest = groups.sort((a, b) => b.count - a.count)[0]
  return largest && { start: largest.start, end: largest.end }
}

export function isInside(times: ChannelTimes, { start, end }: Range): boolean {
  return times.last >= start && times.first <= end
}
