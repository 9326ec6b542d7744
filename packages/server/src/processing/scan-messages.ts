import type { Analysis, ExpectedChannel } from '@tapedeck/analysis'

/** Files of this machine are read by the scan itself. Other bytes it asks for: it holds no key to any store. */
export type ScanSource =
  | { kind: 'files'; root: string; parts: { object: string; bytes: number }[] }
  | { kind: 'asked'; bytes: number }

/** What a scan is told: where the recording lies and how it is to be read. */
export type ScanRequest = {
  type: 'scan'
  source: ScanSource
  filename: string
  segmentNs: number
  expected: ExpectedChannel[]
  calibrationVersion: number | null
}

export type ToScan = ScanRequest | { type: 'bytes'; question: number; bytes: Uint8Array }

export type ScanReply =
  | { type: 'read'; question: number; offset: number; length: number }
  | { type: 'progress'; fraction: number }
  | { type: 'done'; analysis: Analysis }
  /** The storage does not have the bytes any more. */
  | { type: 'lost'; message: string }
  | { type: 'fault'; message: string }
