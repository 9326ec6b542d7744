import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { ANNOUNCED } from './baselines/announce.ts'
import type { Figure, Report } from './report.ts'
import { type Asked, ask } from './support/ask.ts'
import { requestHead } from './support/connection.ts'
import { startProcess } from './support/process.ts'
import { inRounds, median } from './support/rounds.ts'
import { seed } from './support/seed.ts'
import { databaseOf, type Service, startService } from './support/service.ts'
import type { Stage } from './support/stage.ts'

const ROUNDS = 5
const ROUND_MS = 2_500
const CONNECTIONS = 32
const SESSIONS = 1_000

const newSession = JSON.stringify({
  site: 'bench',
  device: 'device-1',
  filename: 'run.mcap',
  bytes: 2 ** 30,
  sha256: 'ab'.repeat(32),
})

/** Requests a second, against a bare Fastify route that runs the same SQL. */
export async function requests(stage: Stage): Promise<Report> {
  const service = await startService(stage)
  const organisationId = await seed(service, SESSIONS)
  const ids = await processedIds(service)
  const baseline = await startProcess(
    stage,
    [
      fileURLToPath(new URL('baselines/fastify.ts', import.meta.url)),
      service.dataDir,
      organisationId,
      ids[0] ?? '',
      newSession,
    ],
    ANNOUNCED,
  )
  const urls = [service.url, baseline.found[0] ?? '']
  const authorization = { Authorization: `Bearer ${service.key}` }
  const get = (path: string) => (url: string) =>
    Buffer.from(requestHead('GET', `${url}${path}`, authorization))
  const post = (url: string) => {
    const headers = {
      ...authorization,
      'Content-Type': 'application/json',
      'Content-Length': newSession.length,
    }
    return Buffer.from(requestHead('POST', `${url}/v1/sessions`, headers) + newSession)
  }
  const loads: number[] = []
  const measure = async (what: string, making: ((url: string) => Buffer)[]): Promise<Figure> => {
    const rounds = await inRounds(
      ROUNDS,
      urls.map((url) => () => askAll(url, making)),
    )
    loads.push(...rounds.flat().map(({ loadCpu }) => loadCpu))
    return figure(what, rounds)
  }
  // Creating comes last: it adds sessions.
  const figures = [
    await measure(
      'retrieve',
      ids.map((id) => get(`/v1/sessions/${id}`)),
    ),
    await measure('list, a page of 50', [get('/v1/sessions')]),
    await measure('create, of 16 parts', [post]),
  ]
  return {
    title: 'Requests: retrieve, list, create',
    story: `Requests a second over ${CONNECTIONS} keep-alive connections, median of ${ROUNDS} rounds. The baseline is a bare Fastify route in its own process that runs the same SQL on the same PostgreSQL through a pool of the same size and answers in the same shape, without key, rate limit, checks, signatures or metrics.`,
    figures,
    notes: [
      `The process that makes the load used ${Math.round(median(loads) * 100)} % of a core (${Math.round(Math.max(...loads) * 100)} % at most)${Math.max(...loads) > 0.9 ? ', so that it was itself a limit in some rounds' : ''}; it shares the cores with the service and PostgreSQL.`,
    ],
  }
}

function askAll(url: string, making: ((url: string) => Buffer)[]): Promise<Asked> {
  const prepared = making.map((make) => make(url))
  let next = 0
  return ask(url, CONNECTIONS, AbortSignal.timeout(ROUND_MS), () => {
    next = (next + 1) % prepared.length
    return prepared[next] ?? Buffer.alloc(0)
  })
}

function figure(what: string, rounds: Asked[][]): Figure {
  const column = (index: number) => {
    const of = (pick: (asked: Asked) => number) =>
      median(rounds.map((round) => (round[index] ? pick(round[index]) : Number.NaN)))
    return `${of(({ perSecond }) => perSecond).toFixed(0)}/s, p99 ${of(({ p99Ms }) => p99Ms).toFixed(1)} ms`
  }
  const ratios = rounds.map(
    ([ours, baseline]) => (ours?.perSecond ?? 0) / (baseline?.perSecond ?? Number.NaN),
  )
  return { what, ours: column(0), baseline: column(1), ratio: median(ratios), target: { atLeast: 0.6 } }
}

async function processedIds({ dataDir }: Service): Promise<string[]> {
  const client = new pg.Client(await databaseOf(dataDir))
  await client.connect()
  const { rows } = await client.query<{ id: string }>(`select id from sessions where status = 'processed'`)
  await client.end()
  return rows.map(({ id }) => id)
}
