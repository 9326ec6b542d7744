import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { CreatedSession } from '@tapedeck/contract'
import pg from 'pg'
import { type Cluster, openCluster } from '../soak/cluster.ts'
import { type Foundation, openFoundation } from '../soak/foundation.ts'
import { type Memory, watchMemory } from '../soak/memory.ts'
import { ANNOUNCED } from './baselines/announce.ts'
import type { Held } from './baselines/idle-connections.ts'
import type { Lingering } from './baselines/slow-loris.ts'
import type { Uploaded } from './baselines/uploaders.ts'
import type { Figure, Report } from './report.ts'
import { type Asked, ask } from './support/ask.ts'
import { requestHead } from './support/connection.ts'
import { startProcess } from './support/process.ts'
import { median } from './support/rounds.ts'
import type { Stage } from './support/stage.ts'

const ROUNDS = 3
const SESSIONS = 1_000
const CLIENTS = 50
const IDLE = 10_000
const LORISES = 100
/** As many as a node may take in at once, if they were let stay. */
const PART_LORISES = 40
const READERS = 4
const QUIET_MS = 10_000
const PROCESSED_WITHIN_MS = 10 * 60_000

/** Many clients at once on several nodes, beside those that only hold on to them. */
export async function load(stage: Stage): Promise<Report> {
  const foundation = await openFoundation(stage)
  const cluster = await openCluster(stage, foundation)
  const idle = await start(stage, 'idle-connections', [String(IDLE), ...cluster.apiUrls])
  const lorises = await startLorises(stage, cluster)
  const rounds = [await runRound(stage, foundation, cluster)]
  // By then they have taken what they need.
  const memory = watchMemory({ 'API nodes': cluster.api, workers: cluster.workers })
  while (rounds.length < ROUNDS) rounds.push(await runRound(stage, foundation, cluster))
  memory.stop()
  const held = await told<Held>(idle)
  const shed = await untilShed(lorises)
  const errors = await countServerErrors(cluster)
  const sum = (count: (round: Round) => number) => rounds.reduce((sum, round) => sum + count(round), 0)
  const failures = rounds.flatMap(({ uploaded }) => uploaded.failures)
  return {
    title: 'Load: many clients on two API nodes and two workers',
    story: `${SESSIONS} recordings of one part, uploaded by ${CLIENTS} clients at once through 2 API nodes; 2 workers process them; PostgreSQL over TCP, recordings in ${foundation.store.name}. Beside them ${IDLE} keep-alive connections that ask for something every 50 s, ${LORISES} clients each that send a head or a body at a byte a second, ${PART_LORISES} that send parts so, and a reader that lists pages of 50 over ${READERS} connections without a pause; its latency is held against the same reader when nothing else happens. ${ROUNDS} rounds of that, one after the other; latencies are the medians of the rounds, and memory is looked at after the first.`,
    figures: [
      outcome(
        'sessions uploaded',
        sum(({ uploaded }) => uploaded.sessions),
        ROUNDS * SESSIONS,
      ),
      outcome('sessions processed', rounds.at(-1)?.processed ?? 0, ROUNDS * SESSIONS),
      atMost('answers of 5xx', errors + failures.length, 0),
      outcome('idle connections still open at the end', held.open, IDLE),
      ...Object.entries(shed).map(([kind, { open, shed: gone, longestMs }]) => ({
        ...outcome(`slow ${kind} shed`, gone, open + gone),
        ours: `${gone}, the last after ${(longestMs / 1000).toFixed(0)} s`,
      })),
      latency(rounds),
      ...memoryFigures(memory),
    ],
    notes: [
      `The uploads of a round took ${seconds(rounds, ({ uploaded }) => uploaded.seconds)}; the last recording was processed ${seconds(rounds, ({ processedAfterS }) => processedAfterS)} later.`,
      `p99 of the list beside the load and when quiet, round by round: ${rounds.map(({ busy, quiet }) => `${busy.p99Ms.toFixed(0)} and ${quiet.p99Ms.toFixed(0)} ms`).join(', ')}.`,
      ...(held.refused === null ? [] : [`Not all idle connections could be opened here: ${held.refused}.`]),
      ...failures.slice(0, 3).map((failure) => `An upload failed: ${failure.split('\n')[0]}.`),
    ],
  }
}

type Round = { uploaded: Uploaded; busy: Asked; quiet: Asked; processed: number; processedAfterS: number }

async function runRound(stage: Stage, foundation: Foundation, cluster: Cluster): Promise<Round> {
  const reading = new AbortController()
  const busyReader = read(cluster, reading.signal)
  const args = [String(CLIENTS), String(SESSIONS), cluster.key, ...cluster.apiUrls]
  const { found } = await startProcess(stage, [scriptPath('uploaders'), ...args], /uploaded (.*)\n/)
  reading.abort()
  const busy = await busyReader
  const uploadedMs = performance.now()
  const states = await untilProcessed(foundation)
  return {
    uploaded: JSON.parse(found[0] ?? ''),
    processed: states.get('processed') ?? 0,
    processedAfterS: (performance.now() - uploadedMs) / 1000,
    busy,
    quiet: await read(cluster, AbortSignal.timeout(QUIET_MS)),
  }
}

function seconds(rounds: Round[], of: (round: Round) => number): string {
  return `${median(rounds.map(of)).toFixed(0)} s`
}

async function start(stage: Stage, name: string, args: string[]): Promise<string> {
  const { found } = await startProcess(stage, [scriptPath(name), ...args], ANNOUNCED)
  return found[0] ?? ''
}

/** What a process of ours says of itself. */
async function told<T>(url: string): Promise<T> {
  const response = await fetch(url)
  return response.json() as Promise<T>
}

async function startLorises(stage: Stage, { apiUrls, key }: Cluster): Promise<string> {
  const url = apiUrls[0] ?? ''
  const partUrls: string[] = []
  while (partUrls.length < PART_LORISES) {
    const response = await fetch(`${url}/v1/sessions`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ site: 'loris', filename: 'slow.bin', bytes: 100_000, sha256: 'ab'.repeat(32) }),
    })
    const { upload } = (await response.json()) as CreatedSession
    const { pathname, search } = new URL(upload.parts[0]?.url ?? '')
    partUrls.push(`${url}${pathname}${search}`)
  }
  return start(stage, 'slow-loris', [String(LORISES), url, key, ...partUrls])
}

function read({ apiUrls, key }: Cluster, until: AbortSignal): Promise<Asked> {
  const url = apiUrls[1] ?? ''
  const request = Buffer.from(
    requestHead('GET', `${url}/v1/sessions?limit=50`, { Authorization: `Bearer ${key}` }),
  )
  return ask(url, READERS, until, () => request)
}

/** How many sessions of the load are in each state, once none of them waits any more. */
async function untilProcessed({ databaseUrl }: Foundation): Promise<Map<string, number>> {
  const client = new pg.Client(databaseUrl)
  await client.connect()
  const deadlineMs = performance.now() + PROCESSED_WITHIN_MS
  try {
    for (;;) {
      const { rows } = await client.query(
        `select status, count(*)::int as count from sessions where site = 'load' group by status`,
      )
      const states = new Map<string, number>(rows.map(({ status, count }) => [status, count]))
      const waiting = [...states.keys()].some((status) => status !== 'processed' && status !== 'failed')
      if (!waiting || performance.now() > deadlineMs) return states
      await sleep(500)
    }
  } finally {
    await client.end()
  }
}

async function untilShed(url: string): Promise<Lingering> {
  const deadlineMs = performance.now() + 120_000
  for (;;) {
    const lingering = await told<Lingering>(url)
    const left = Object.values(lingering).some(({ open }) => open > 0)
    if (!left || performance.now() > deadlineMs) return lingering
    await sleep(500)
  }
}

async function countServerErrors({ apiUrls }: Cluster): Promise<number> {
  const texts = await Promise.all(apiUrls.map(async (url) => (await fetch(`${url}/metrics`)).text()))
  const counts = texts.flatMap((text) => [
    ...text.matchAll(/^tapedeck_http_request_seconds_count\{.*status="5\d\d".*\} (\d+)$/gm),
  ])
  return counts.reduce((sum, [, count]) => sum + Number(count), 0)
}

function outcome(what: string, found: number, wanted: number): Figure {
  return {
    what,
    ours: String(found),
    baseline: String(wanted),
    ratio: found / wanted,
    target: { atLeast: 1 },
  }
}

function atMost(what: string, found: number, most: number): Figure {
  return { what, ours: String(found), baseline: String(most), ratio: found, target: { atMost: most } }
}

function latency(rounds: Round[]): Figure {
  const busyMs = median(rounds.map(({ busy }) => busy.p99Ms))
  const quietMs = median(rounds.map(({ quiet }) => quiet.p99Ms))
  return {
    what: `list, a page of 50, p99 beside the load, against the quiet one`,
    ours: `${busyMs.toFixed(0)} ms`,
    baseline: `${quietMs.toFixed(0)} ms`,
    ratio: median(rounds.map(({ busy, quiet }) => busy.p99Ms / quiet.p99Ms)),
    target: { atMost: 3 },
  }
}

function memoryFigures(memory: Memory): Figure[] {
  return ['API nodes', 'workers'].flatMap((kind) => {
    const thirds = memory.thirds(kind)
    if (!thirds) return []
    const inMb = (bytes: number) => `${(bytes / 1e6).toFixed(0)} MB`
    return {
      what: `memory of ${kind}, last third against the first`,
      ours: `${inMb(thirds.last)} (most: ${inMb(thirds.most)})`,
      baseline: inMb(thirds.first),
      ratio: thirds.last / thirds.first,
      target: { atMost: 1.2 },
    }
  })
}

function scriptPath(name: string): string {
  return fileURLToPath(new URL(`baselines/${name}.ts`, import.meta.url))
}
