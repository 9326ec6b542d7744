import type { ChannelKind } from '@tapedeck/contract/kinds'
import type { Timebase } from '@tapedeck/formats'
import { nameChannels, uniqueNames } from './channel-names.ts'
import type { ChannelTimes } from './channel-stats.ts'
import { type ClockModel, fitClock, type Pair } from './clock.ts'
import type { CollectedChannel, Collection } from './collect.ts'
import type { ExpectedChannel } from './expected.ts'

/** A channel when all of it was heard: its name, its times, its clock. */
export type Judged = CollectedChannel & {
  index: number
  name: string
  kind: ChannelKind
  stats: ChannelTimes
  clock: ClockModel | undefined
  expectedRateHz: number | undefined
}

export function judgeChannels(
  { channels, originNs }: Collection,
  timebase: Timebase,
  expected: ExpectedChannel[],
): Judged[] {
  const given = new Map(expected.map((channel) => [channel.topic, channel]))
  const named = nameChannels(channels.map(({ info }) => info))
  const names = uniqueNames(
    channels.map(({ info }, index) => given.get(info.topic)?.name ?? named[index]?.name ?? 'other'),
    channels.map(({ info }) => `${given.has(info.topic) ? '' : '\uffff'}${info.topic}`),
  )
  return channels.map((channel, index) => ({
    ...channel,
    index,
    name: names[index] ?? 'other',
    expectedRateHz: given.get(channel.info.topic)?.rateHz,
    kind: named[index]?.kind ?? 'other',
    stats: channel.times.finish(),
    // Stamps are Unix time: beside a clock that counts from boot they say nothing.
    clock:
      timebase.kind === 'unix'
        ? fitClock(corrected(channel.contents.pairs(), given.get(channel.info.topic)), originNs())
        : undefined,
  }))
}

/** What is known is no news: only the rest is estimated. */
function corrected(pairs: Pair[], expected: ExpectedChannel | undefined): Pair[] {
  const { clockOffsetNs = 0 } = expected ?? {}
  return clockOffsetNs === 0 ? pairs : pairs.map(({ t, stamp }) => ({ t, stamp: stamp - clockOffsetNs }))
}
