import { type ChannelInfo, MAX_CHANNELS, type Visitor } from '../recording.ts'
import { note, openTally, report } from './tally.ts'

/** The channels of a file that names them as it goes, each told once and never more than `MAX_CHANNELS`. */
export type Roster = {
  /** The number of a channel; undefined where there are too many already. */
  channel(topic: string, describe: () => Omit<ChannelInfo, 'topic'>): number | undefined
  /** A message of a channel that had no place. */
  turnAway(at: number): void
  report(visitor: Visitor): void
}

export function openRoster(visitor: Visitor): Roster {
  const numbers = new Map<string, number>()
  const turnedAway = openTally()
  return {
    channel(topic, describe) {
      const known = numbers.get(topic)
      if (known !== undefined || numbers.size >= MAX_CHANNELS) return known
      const number = visitor.channel({ topic, ...describe() })
      numbers.set(topic, number)
      return number
    },
    turnAway: (at) => note(turnedAway, at),
    report: () =>
      report(
        visitor,
        'messages_undecodable',
        turnedAway,
        `the file names more than ${MAX_CHANNELS} channels; ${turnedAway.count} messages of those beyond are not ` +
          `counted, the first at byte ${turnedAway.at}`,
      ),
  }
}
