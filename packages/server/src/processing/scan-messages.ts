import type { Analysis, ExpectedChannel } from '@tapedeck/analysis'

/** What a scan is told: where the recording lies and how it is to be read. */
export type ScanRequest = {
  root: string
  parts: { object: string; bytes: number }[]
  filename: string
  tempDir: string
  segmentNs: number
  expected: ExpectedChannel[]
  calibrationVersion: number | null
}

export type ScanReply =
  | { type: 'progress'; fraction: number }
  | { type: 'done'; analysis: Analysis }
  | { type: 'fault'; message: string }
