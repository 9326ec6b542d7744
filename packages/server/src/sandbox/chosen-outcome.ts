import type { Analysis } from '@tapedeck/analysis'

// In a sandbox a file name can choose how processing ends, so that an integration can be tested without a recording.

const PROCESSED = /^tapedeck-processed(\.|$)/
const FAILED = /^tapedeck-failed(\.|$)/

export function chosenOutcome(filename: string): Analysis | undefined {
  if (PROCESSED.test(filename)) return processed
  if (FAILED.test(filename)) return failed
  return undefined
}

const START_NS = 1_767_600_000_000_000_000n
const END_NS = START_NS + 10_000_000_000n

const nothing: Analysis = {
  format: undefined,
  readable: false,
  absolute: false,
  startNs: 0n,
  endNs: 0n,
  channels: [],
  issues: [],
  segments: [],
  timeline: { startNs: 0n, binNs: 0, rows: [] },
}

const failed: Analysis = {
  ...nothing,
  issues: [
    {
      code: 'recording_empty',
      severity: 'error',
      channel: '',
      detail: 'the name of the file asked for a failure',
    },
  ],
}

const processed: Analysis = {
  ...nothing,
  format: 'mcap',
  readable: true,
  absolute: true,
  startNs: START_NS,
  endNs: END_NS,
  channels: [
    {
      name: 'imu',
      kind: 'imu',
      topic: '/imu/data',
      schema: 'sensor_msgs/Imu',
      encoding: 'json',
      count: 1000,
      bytes: 200_000,
      firstNs: START_NS,
      lastNs: END_NS,
      rateHz: 100,
      jitterNs: 0,
      largestGapNs: 10_000_000,
      clock: null,
    },
  ],
  segments: [
    {
      index: 0,
      startNs: START_NS,
      endNs: END_NS,
      why: 'start',
      label: '',
      channels: [{ name: 'imu', count: 1000, rateHz: 100 }],
      issues: [],
      messages: 1000,
      activity: 1,
    },
  ],
  timeline: {
    startNs: START_NS,
    binNs: 5_000_000,
    rows: [Uint32Array.from({ length: 2000 }, (_, bin) => bin % 2)],
  },
}
