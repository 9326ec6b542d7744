import type { AnalysedIssue } from './analysis.ts'
import type { FoundIssue, Severity } from './issue.ts'
import { storable } from './nanoseconds.ts'
import { cleanLine } from './text.ts'

// From what the checks found to what the recording is told to have: one issue for each channel and code, worst first,
// and no more than anybody can read.

/** So many channels are named for one code; those behind are counted in one issue of the recording. */
const MAX_CHANNELS_PER_CODE = 100
const MAX_DETAIL_CHARACTERS = 1000

export function arrangeIssues(
  found: FoundIssue[],
  channels: { name: string }[],
  originNs: bigint,
): AnalysedIssue[] {
  const issues = merge(found.map((one) => toIssue(one, channels, originNs)).sort(worstFirst))
  return fold(issues).sort(worstFirst)
}

function toIssue(found: FoundIssue, channels: { name: string }[], originNs: bigint): AnalysedIssue {
  const { code, severity, channel, missing, detail, t, count, value, threshold } = found
  const tNs = t === undefined ? undefined : storable(originNs, t)
  return {
    code,
    severity,
    channel: missing ?? (channel === undefined ? '' : (channels[channel]?.name ?? '')),
    detail: cleanLine(detail, MAX_DETAIL_CHARACTERS),
    ...(tNs !== undefined && { tNs }),
    ...(count !== undefined && { count }),
    ...(value !== undefined && { value }),
    ...(threshold !== undefined && { threshold }),
  }
}

const rank: Record<Severity, number> = { error: 0, warning: 1, info: 2 }

/** The recording before its channels, then by name and code, so that the order is always the same. */
function worstFirst(a: AnalysedIssue, b: AnalysedIssue): number {
  return rank[a.severity] - rank[b.severity] || compare(a.channel, b.channel) || compare(a.code, b.code)
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

/** Reader and checks may have seen the same thing: the worst speaks, and what was seen twice counts once. */
function merge(issues: AnalysedIssue[]): AnalysedIssue[] {
  const merged = new Map<string, AnalysedIssue>()
  for (const found of issues) {
    const key = `${found.code}\0${found.channel}`
    const known = merged.get(key)
    if (!known) merged.set(key, found)
    else if (found.count !== undefined) {
      merged.set(key, { ...known, count: Math.max(known.count ?? 0, found.count) })
    }
  }
  return [...merged.values()]
}

function fold(issues: AnalysedIssue[]): AnalysedIssue[] {
  return [...Map.groupBy(issues, ({ code }) => code).values()].flatMap((ofCode) => {
    const channels = ofCode.filter(({ channel }) => channel !== '')
    const [rest, spoken] = [channels.slice(MAX_CHANNELS_PER_CODE), channels.slice(0, MAX_CHANNELS_PER_CODE)]
    const [first] = rest
    if (!first) return ofCode
    const whole = ofCode.find(({ channel }) => channel === '')
    const more = `${rest.length} channels more than are listed, the first of them ${first.channel}: ${first.detail}`
    const folded = whole
      ? { ...whole, detail: `${whole.detail}; and ${more}` }
      : { code: first.code, severity: first.severity, channel: '', detail: more, count: rest.length }
    return [...spoken, folded]
  })
}
