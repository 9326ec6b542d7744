import type { Socket } from 'node:net'
import { Kysely, PostgresDialect } from 'kysely'
import pg from 'pg'
import { systemCode } from '../errors.ts'
import { parseExact } from '../exact-json.ts'
import { prepareStatements } from './prepared.ts'
import type { Tables } from './schema.ts'

export type Connection = { connectionString: string } | { host: string; user: string; database: string }
export type Db = Kysely<Tables>

export type Database = {
  db: Db
  pool: pg.Pool
  connection: Connection
  close(): Promise<void>
}

type Options = {
  maxConnections?: number
  /** 0: idle connections are kept. */
  idleTimeoutMs?: number
  /** 0: a connection may be silent for ever. */
  silenceMs?: number
  onError?: (error: Error) => void
}

const STATEMENT_TIMEOUT_MS = 30_000
const CONNECT_TIMEOUT_MS = 5_000
/** The server ends what takes longer: one that says nothing for so long is gone, and its machine could not tell us. */
const SILENCE_MS = STATEMENT_TIMEOUT_MS + 5_000

export function openDatabase(connection: Connection, options: Options = {}): Database {
  const pool = new pg.Pool({
    ...connection,
    max: options.maxConnections ?? 16,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    ...(options.idleTimeoutMs !== undefined && { idleTimeoutMillis: options.idleTimeoutMs }),
    statement_timeout: STATEMENT_TIMEOUT_MS,
    idle_in_transaction_session_timeout: STATEMENT_TIMEOUT_MS,
    application_name: 'tapedeck',
    types: { getTypeParser },
  })
  // A connection that breaks is replaced by the pool. Without a listener its error would end the process: the pool
  // hears those of idle connections, those in use must be heard too (their query tells the caller).
  let closing = false
  pool.on('error', (error) => {
    if (!closing) options.onError?.(error)
  })
  pool.on('connect', (client) => {
    client.on('error', () => {})
    endWhenSilent(client, options.silenceMs ?? SILENCE_MS)
    prepareStatements(client)
  })
  const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) })
  const close = () => {
    closing = true
    return db.destroy()
  }
  return { db, pool, connection, close }
}

/** Idle connections are closed by the pool long before. */
function endWhenSilent(client: pg.PoolClient, silenceMs: number): void {
  const { stream } = (client as unknown as { connection: { stream: Socket } }).connection
  stream.setTimeout(silenceMs, () => stream.destroy())
}

const INT8 = 20
const TIMESTAMPTZ = 1184
const JSONB = 3802

function getTypeParser(oid: number, format?: 'text' | 'binary') {
  if (oid === INT8 && format !== 'binary') return integer
  if (oid === TIMESTAMPTZ && format !== 'binary') return time
  if (oid === JSONB && format !== 'binary') return parseExact
  return format === 'binary' ? pg.types.getTypeParser(oid, 'binary') : pg.types.getTypeParser(oid, 'text')
}

const UTC_TIME = /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)?\+00$/
const otherTime = pg.types.getTypeParser(TIMESTAMPTZ, 'text')

/** Pages are full of times, nearly all of them such as `2026-01-31 12:00:00.5+00`, which a Date reads natively. */
function time(text: string): Date {
  return UTC_TIME.test(text) ? new Date(`${text.slice(0, 10)}T${text.slice(11, -3)}Z`) : otherTime(text)
}

/** Nanoseconds pass what a number holds exactly; everything else fits. */
function integer(text: string): number | bigint {
  const value = Number(text)
  return Number.isSafeInteger(value) ? value : BigInt(text)
}

const UNAVAILABLE = new Set([
  ...['ECONNREFUSED', 'ECONNRESET', 'ENOENT', 'EPIPE', 'ETIMEDOUT'],
  // The way to it, or its name, is gone for a moment.
  ...['EHOSTUNREACH', 'ENETUNREACH', 'ENOTFOUND', 'EAI_AGAIN'],
  // Read-only while a standby is not yet promoted; a transaction that was ended because we stood still.
  ...['25006', '25P03'],
])

/** Whether the database is away or cannot serve now, rather than refusing this statement. */
export function isUnavailable(error: unknown): boolean {
  const code = systemCode(error)
  // Class 57: shutdown and start-up, but for a cancelled statement; 08: connections; 53: no room, memory or slots left.
  if (code) return UNAVAILABLE.has(code) || (/^(57|08|53)/.test(code) && code !== '57014')
  const message = error instanceof Error ? error.message : ''
  return /^Connection terminated|timeout exceeded when trying to connect|^Client has encountered|^Query read timeout/.test(
    message,
  )
}

/** Whether the database may have done what it was asked, or may yet do it: it has not said. */
export function isUnanswered(error: unknown): boolean {
  return isUnavailable(error) && !(error instanceof pg.DatabaseError)
}
