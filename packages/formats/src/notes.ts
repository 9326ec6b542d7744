import type { Finding, StructuralCode, Visitor } from './recording.ts'

// Damage repeats itself: a thousand corrupt chunks are one finding with a count. Notes are gathered while reading and
// told at the end, when the origin of times is known.

/** How many channels get a finding of their own for one code; those behind share one. */
const MAX_CHANNELS_PER_CODE = 64

export type Note = {
  code: StructuralCode
  /** Kind of damage within the code: each is described once, by its first occurrence. */
  kind: string
  detail: () => string
  channel?: number
  /** Unix time of the occurrence, where the file tells it. */
  ns?: bigint
  /** Occurrences, if not one. */
  count?: number
}

export type Notes = {
  add(note: Note): void
  /** How often a code was noted. */
  count(code: StructuralCode): number
  tell(visitor: Visitor, originNs: bigint | undefined): void
}

type Gathered = {
  code: StructuralCode
  channel: number | undefined
  ns: bigint | undefined
  count: number
  kinds: Map<string, { detail: string; count: number }>
}

export function openNotes(): Notes {
  const gathered = new Map<string, Gathered>()
  return {
    add({ code, kind, detail, channel, ns, count = 1 }) {
      const entry = entryFor(gathered, code, channel)
      entry.count += count
      entry.ns ??= ns
      const known = entry.kinds.get(kind)
      if (known) known.count += count
      else entry.kinds.set(kind, { detail: detail(), count })
    },
    count: (code) =>
      gathered.values().reduce((sum, entry) => (entry.code === code ? sum + entry.count : sum), 0),
    tell(visitor, originNs) {
      for (const entry of gathered.values()) visitor.finding(toFinding(entry, originNs))
    },
  }
}

function entryFor(
  gathered: Map<string, Gathered>,
  code: StructuralCode,
  channel: number | undefined,
): Gathered {
  const own = gathered.get(`${code} ${channel}`)
  if (own) return own
  const siblings = gathered.values().filter((entry) => entry.code === code)
  const shared = channel !== undefined && [...siblings].length >= MAX_CHANNELS_PER_CODE
  const key = shared ? `${code} undefined` : `${code} ${channel}`
  const entry: Gathered = gathered.get(key) ?? {
    code,
    channel: shared ? undefined : channel,
    ns: undefined,
    count: 0,
    kinds: new Map(),
  }
  gathered.set(key, entry)
  return entry
}

function toFinding({ code, channel, ns, count, kinds }: Gathered, originNs: bigint | undefined): Finding {
  const details = kinds
    .values()
    .map(({ detail, count }) => (count > 1 ? `${detail} (${count} times)` : detail))
  return {
    code,
    detail: [...details].join('; '),
    count,
    ...(channel === undefined ? {} : { channel }),
    ...(ns === undefined || originNs === undefined ? {} : { t: Number(ns - originNs) }),
  }
}
