import { readFile } from 'node:fs/promises'
import { median } from '../bench/support/rounds.ts'
import type { Verdict } from './checks.ts'
import type { Supervised } from './supervised.ts'

// Memory of the nodes over a run. One that was just started has not taken what it needs, so the young do not count.

/** What is typical in them, and the most of all, in bytes. */
export type Thirds = { first: number; last: number; most: number }

export type Memory = {
  /** Undefined where the run was too short to tell. */
  thirds(kind: string): Thirds | undefined
  /** Of one kind of node: what the first and the last third of the run hold against each other. */
  verdict(kind: string): Verdict
  stop(): void
}

type Sample = { kind: string; atMs: number; bytes: number }

const SAMPLE_MS = 1_000
const GROWN_UP_MS = 20_000
const FLAT_RATIO = 1.2
/** Of noise: pages that the collector gives back when it likes. */
const SLACK_BYTES = 32e6
/** In each third, to say anything. */
const FEWEST = 20

export function watchMemory(nodes: Record<string, Supervised[]>): Memory {
  const startMs = performance.now()
  const samples: Sample[] = []
  const bornMs = new Map<number, number>()
  let stoppedMs: number | undefined
  const look = async () => {
    const atMs = performance.now()
    for (const [kind, all] of Object.entries(nodes)) {
      for (const node of all) {
        const pid = node.pid()
        if (pid === undefined) continue
        if (!bornMs.has(pid)) bornMs.set(pid, atMs)
        const bytes = await residentBytes(pid)
        if (bytes !== undefined && atMs - (bornMs.get(pid) ?? atMs) > GROWN_UP_MS)
          samples.push({ kind, atMs: atMs - startMs, bytes })
      }
    }
  }
  const timer = setInterval(() => void look(), SAMPLE_MS)

  function thirds(kind: string): Thirds | undefined {
    const of = samples.filter((sample) => sample.kind === kind)
    const endMs = stoppedMs ?? performance.now() - startMs
    const first = of.filter(({ atMs }) => atMs < endMs / 3).map(({ bytes }) => bytes)
    const last = of.filter(({ atMs }) => atMs > (2 * endMs) / 3).map(({ bytes }) => bytes)
    if (first.length < FEWEST || last.length < FEWEST) return undefined
    return { first: median(first), last: median(last), most: Math.max(...of.map(({ bytes }) => bytes)) }
  }

  return {
    stop() {
      clearInterval(timer)
      stoppedMs = performance.now() - startMs
    },
    thirds,
    verdict(kind) {
      const what = `memory of ${kind}: first and last third`
      const found = thirds(kind)
      if (!found) return { what, found: 'too short a run to tell', holds: true }
      const inMb = (bytes: number) => `${(bytes / 1e6).toFixed(0)} MB`
      return {
        what,
        found: `${inMb(found.first)}, ${inMb(found.last)}; most: ${inMb(found.most)}`,
        holds: found.last <= found.first * FLAT_RATIO + SLACK_BYTES,
      }
    },
  }
}

/** Undefined for a process that has ended, and where there is no /proc. */
async function residentBytes(pid: number): Promise<number | undefined> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '')
  const kib = /^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]
  return kib === undefined ? undefined : Number(kib) * 1024
}
