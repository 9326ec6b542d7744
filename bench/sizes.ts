// npm run bench:sizes: what one session takes in the database, table by table, and what the queue does in a second. Writes
// the measured part of docs/scale.md.
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { availableParallelism } from 'node:os'
import pg from 'pg'
import { Tapedeck } from '../packages/sdk/src/index.ts'
import { makeMcap } from './formats/make.ts'
import { queueRates } from './support/queue-rates.ts'
import { databaseOf, type Service, startService } from './support/service.ts'
import { copySession, type Size, sizesOf } from './support/session-copies.ts'
import { openStage, type Stage } from './support/stage.ts'

const SESSIONS = Number(process.argv[2] ?? 100_000)
const RECORDING_BYTES = 1_000_000_000
const page = new URL('../docs/scale.md', import.meta.url)

const stage = await openStage()
try {
  const service = await startService(stage)
  const sessionId = await uploadOne(stage, service)
  const client = new pg.Client(await databaseOf(service.dataDir))
  await client.connect()
  await copySession(client, sessionId, SESSIONS)
  const sizes = await sizesOf(client, SESSIONS)
  await client.end()
  await service.stop()
  const text = `${sizeTable(sizes)}\n${queueTable(await queueRates(stage))}\n${footer()}`
  process.stdout.write(text)
  await replaceMeasured(text)
} finally {
  await stage.end()
}

/** A real recording, uploaded, processed and told about, as every other is. */
async function uploadOne(stage: Stage, { url, key }: Service): Promise<string> {
  const receiver = createServer((_, response) => response.end()).listen(0, '127.0.0.1')
  await once(receiver, 'listening')
  stage.after(() => receiver.close())
  const tapedeck = new Tapedeck({ apiKey: key, baseUrl: url })
  const { port } = receiver.address() as AddressInfo
  const target = `http://127.0.0.1:${port}/`
  await tapedeck.webhookEndpoints.create({ url: target, events: ['session.processed'] })
  const file = await makeMcap(stage.dir, RECORDING_BYTES)
  const { id } = await tapedeck.sessions.upload(file, { site: 'site-0', device: 'device-0' })
  const { status } = await tapedeck.sessions.wait(id)
  if (status !== 'processed') throw new Error(`the recording became ${status}`)
  return id
}

function sizeTable(sizes: Size[]): string {
  const row = (cells: (string | number)[]) => `| ${cells.join(' | ')} |`
  const number = (value: number) => Math.round(value).toLocaleString('en')
  const lines = sizes.map(({ table, rows, heap, indexes }) =>
    row([`\`${table}\``, number(rows), number(heap), number(indexes), number(heap + indexes)]),
  )
  const sum = (pick: (size: Size) => number) => sizes.reduce((total, size) => total + pick(size), 0)
  const all = [sum(({ rows }) => rows), sum(({ heap }) => heap), sum(({ indexes }) => indexes)] as const
  return [
    '| Table | Rows of a session | Bytes in the table | Bytes in indexes | Together |',
    '| --- | ---: | ---: | ---: | ---: |',
    ...lines,
    row(['all', number(all[0]), number(all[1]), number(all[2]), number(all[1] + all[2])]),
    '',
  ].join('\n')
}

function queueTable(rates: Record<string, number>): string {
  const lines = Object.entries(rates).map(
    ([what, value]) => `| ${what} | ${Math.round(value).toLocaleString('en')} |`,
  )
  return ['| The queue | |', '| --- | ---: |', ...lines, ''].join('\n')
}

function footer(): string {
  const made = `${SESSIONS.toLocaleString('en')} sessions, copies of a real one of ${RECORDING_BYTES / 1e9} GB`
  return `Measured with ${made}, on ${availableParallelism()} cores. Repeat with \`npm run bench:sizes\`.\n`
}

async function replaceMeasured(text: string): Promise<void> {
  const [begin, end] = ['<!-- measured -->', '<!-- end measured -->']
  const before = await readFile(page, 'utf8')
  const [from, to] = [before.indexOf(begin), before.indexOf(end)]
  if (from === -1 || to === -1) throw new Error('docs/scale.md has no place for what was measured')
  await writeFile(page, `${before.slice(0, from)}${begin}\n${text}${before.slice(to)}`)
}
