import type { Instant } from './linear/timeline.ts'

/** 1980-01-06, when GPS time and UTC agreed. */
const GPS_EPOCH_UNIX_S = 315_964_800
const WEEK_S = 604_800

/** Seconds that GPS is ahead of UTC, by the GPS second from which on; none was added since 2017. */
const leapSeconds = [
  { fromGpsS: 1_167_264_018, ahead: 18 },
  { fromGpsS: 1_119_744_017, ahead: 17 },
  { fromGpsS: 1_025_136_016, ahead: 16 },
  { fromGpsS: 914_803_215, ahead: 15 },
  { fromGpsS: 0, ahead: 14 },
]

export function gpsToUnix(week: number, msOfWeek: number): Instant {
  const gpsS = week * WEEK_S + Math.floor(msOfWeek / 1000)
  const ahead = leapSeconds.find(({ fromGpsS }) => gpsS >= fromGpsS)?.ahead ?? 0
  return { sec: GPS_EPOCH_UNIX_S + gpsS - ahead, nano: (msOfWeek % 1000) * 1e6 }
}

/** The middle one: a receiver may be wrong about the date at first, and a bit may be turned in any of them. */
export function medianInstant(instants: Instant[]): Instant | undefined {
  const sorted = instants.toSorted((a, b) => a.sec - b.sec || a.nano - b.nano)
  return sorted[sorted.length >> 1]
}
