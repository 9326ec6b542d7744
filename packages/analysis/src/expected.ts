import type { Judged } from './channels.ts'
import { type FoundIssue, issue } from './issue.ts'

export type ExpectedChannel = {
  topic: string
  name?: string
  rateHz?: number
  hasIntrinsics?: boolean
  /** How far its stamps are known to be from the recorder's clock. */
  clockOffsetNs?: number
}

/** What this device usually sends, or its calibration says it does, beside what is there. */
export function checkExpected(
  channels: Judged[],
  expected: ExpectedChannel[],
  calibrationVersion: number | null,
): FoundIssue[] {
  return [
    ...checkMissing(channels, expected),
    ...checkIntrinsics(channels, expected),
    ...(calibrationVersion === null ? [] : [applied(calibrationVersion)]),
  ]
}

function checkMissing(channels: Judged[], expected: ExpectedChannel[]): FoundIssue[] {
  const there = new Set(channels.filter(({ stats }) => stats.count > 0).map(({ info }) => info.topic))
  return expected
    .filter(({ topic }) => !there.has(topic))
    .map(({ topic, name }) =>
      issue('channel_missing', {
        missing: name ?? topic,
        detail: `${topic} is usually there and is not in this recording`,
      }),
    )
}

/** A camera counts as calibrated when anything called its info lies beside it, or the store has its intrinsics. */
function checkIntrinsics(channels: Judged[], expected: ExpectedChannel[]): FoundIssue[] {
  const stored = new Set(expected.filter(({ hasIntrinsics }) => hasIntrinsics).map(({ topic }) => topic))
  const isInfo = ({ info }: Judged) => /camera_?info|cameracalibration/i.test(info.schema)
  const folders = new Set(channels.filter(isInfo).map(({ info }) => parent(info.topic)))
  return channels
    .filter((channel) => channel.kind === 'camera' && !isInfo(channel) && /image/i.test(channel.info.schema))
    .filter(
      ({ info }) =>
        !stored.has(info.topic) &&
        !folders.has(parent(info.topic)) &&
        !folders.has(parent(parent(info.topic))),
    )
    .map(({ index }) =>
      issue('calibration_missing', { channel: index, detail: 'no camera info is recorded for this camera' }),
    )
}

function parent(topic: string): string {
  return topic.slice(0, Math.max(0, topic.lastIndexOf('/')))
}

function applied(version: number): FoundIssue {
  return issue('calibration_applied', {
    detail: `version ${version} of the calibration of the device was applied`,
  })
}
