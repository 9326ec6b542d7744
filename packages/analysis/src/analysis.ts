import type { ChannelKind } from '@tapedeck/contract/kinds'
import type { Format } from '@tapedeck/formats'
import type { ClockModel } from './clock.ts'
import type { IssueCode, Severity } from './issue.ts'
import type { CutReason } from './segments.ts'

// What a recording turns out to be. Times are integer nanoseconds: Unix time where the recording has it, otherwise
// counted from its own beginning.

export type Analysis = {
  /** Undefined: no reader knows the file. */
  format: Format | undefined
  /** Whether anything could be read of it. */
  readable: boolean
  /** Whether times are Unix time. */
  absolute: boolean
  startNs: bigint
  endNs: bigint
  channels: AnalysedChannel[]
  issues: AnalysedIssue[]
  segments: AnalysedSegment[]
  timeline: AnalysedTimeline
}

export type AnalysedChannel = {
  name: string
  kind: ChannelKind
  topic: string
  schema: string
  encoding: string
  count: number
  bytes: number
  firstNs: bigint | null
  lastNs: bigint | null
  rateHz: number | null
  jitterNs: number | null
  largestGapNs: number | null
  clock: Omit<ClockModel, 'future'> | null
}

export type AnalysedIssue = {
  code: IssueCode
  severity: Severity
  /** Our name of the channel; empty for the recording as a whole. */
  channel: string
  detail: string
  tNs?: bigint
  count?: number
  value?: number
  threshold?: number
}

export type AnalysedSegment = {
  index: number
  startNs: bigint
  endNs: bigint
  why: CutReason
  label: string
  channels: { name: string; count: number; rateHz: number }[]
  /** Codes of issues that have their place inside. */
  issues: IssueCode[]
  messages: number
  /** Share of the segment in which anything was recorded, in steps of a bin. */
  activity: number
}

export type AnalysedTimeline = {
  startNs: bigint
  binNs: number
  /** One row for each channel, in the order of `channels`. */
  rows: Uint32Array[]
}
