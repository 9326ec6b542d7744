/**
 * One attempt to start the server of a cluster. PostgreSQL itself decides between two attempts at once: by its lock
 * file, and behind that by the shared memory of the directory. The one that loses, ends.
 */
import { mkdirSync, mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Kept, spawnKept } from './keeper.ts'
import { answers, readLock, whoHolds } from './postmaster.ts'
import { openLog } from './server-log.ts'
import { type Account, handOver } from './unprivileged.ts'

const defaultPort = 5432
// After a crash the server first replays its log, which takes long on a slow disk.
const readyWithinMs = 300_000
const fastStopWithinMs = 60_000
const maxSocketPathBytes = process.platform === 'darwin' ? 103 : 107

const settings = {
  unix_socket_permissions: '0700',
  max_connections: '100',
  fsync: 'on',
  io_method: 'sync', // saves three processes
  jit: 'off',
  timezone: 'UTC',
  log_timezone: 'UTC',
}

export type Launch = {
  clusterDir: string
  postgres: string
  account: Account
  listenTcpPort: number | undefined
  /** Where an earlier server of ours listened, for clients that know no other address. */
  socketDir: string | undefined
  /** The pid in a stale lock, where it belongs to another program now. */
  foreignPid: number | undefined
}

export type Server = {
  socketDir: string
  port: number
  pid: number
  exited: Promise<void>
  stop(how?: 'fast' | 'smart'): Promise<void>
}

/** Returns undefined when another server has taken the directory. */
export async function launch(plan: Launch): Promise<Server | undefined> {
  const { clusterDir, account, foreignPid } = plan
  const port = plan.listenTcpPort ?? defaultPort
  const log = openLog(join(clusterDir, 'server.log'))
  try {
    const socketDir = socketDirFor(plan, port)
    // PostgreSQL takes the pid in this variable for one that started it, not for a server. Removing the stale lock
    // ourselves could hit the lock that another start has made since we looked.
    const env = foreignPid === undefined ? {} : { PG_GRANDPARENT_PID: `${foreignPid}` }
    const command = [plan.postgres, '-D', clusterDir, ...flags(plan, socketDir, port)]
    const kept = await spawnKept(command, account, log.fd, env)
    const server = { socketDir, port, pid: kept.pid, ...ending(kept, socketDir, clusterDir) }
    const outcome = await untilReady(kept, server, clusterDir)
    if (outcome === 'ready') return server
    await server.stop('fast')
    if (outcome === 'displaced' || (await whoHolds(clusterDir)).state === 'held') return undefined
    throw new Error(`PostgreSQL ${outcome.failure} in ${clusterDir}; its log says: ${log.lastLines()}`)
  } finally {
    log.close()
  }
}

/** The cluster's own directory, which nobody else may enter; a private one where that makes too long a path. */
function socketDirFor({ clusterDir, account, socketDir }: Launch, port: number): string {
  if (Buffer.byteLength(join(clusterDir, `.s.PGSQL.${port}`)) <= maxSocketPathBytes) return clusterDir
  const privateDir = socketDir ?? mkdtempSync(join(tmpdir(), 'tapedeck-'))
  // It went with the earlier server. Should somebody else have made it meanwhile, this fails.
  if (socketDir !== undefined) mkdirSync(socketDir, { mode: 0o700 })
  handOver(privateDir, account)
  return privateDir
}

function flags({ listenTcpPort }: Launch, socketDir: string, port: number): string[] {
  // The option takes a list with commas, so a path with one must be quoted.
  const quotedDir = `"${socketDir.replaceAll('"', '""')}"`
  const listen = listenTcpPort === undefined ? '' : '127.0.0.1'
  const all = { ...settings, unix_socket_directories: quotedDir, listen_addresses: listen, port }
  return Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`])
}

function ending(
  { child, exited }: Kept,
  socketDir: string,
  clusterDir: string,
): Pick<Server, 'exited' | 'stop'> {
  const ended = exited.then(async () => {
    if (socketDir !== clusterDir) await rm(socketDir, { recursive: true, force: true })
  })
  const stop = async (how: 'fast' | 'smart' = 'fast') => {
    child.kill(how === 'fast' ? 'SIGINT' : 'SIGTERM')
    // An immediate end loses no commit; the next start replays the log.
    const impatience = how === 'fast' ? setTimeout(() => child.kill('SIGQUIT'), fastStopWithinMs) : undefined
    await ended
    clearTimeout(impatience)
  }
  return { exited: ended, stop }
}

type Outcome = 'ready' | 'displaced' | { failure: string }

async function untilReady(kept: Kept, server: Server, clusterDir: string): Promise<Outcome> {
  const deadline = Date.now() + readyWithinMs
  let listening = false
  while (Date.now() < deadline) {
    listening ||= await answers(server)
    // A server that listens has locked the directory. If the lock is not ours now, two starts have met in the moment
    // in which PostgreSQL replaces a stale lock, and a server without its lock ends itself within a minute.
    const lock = listening ? readLock(clusterDir) : undefined
    if (listening && lock?.pid !== server.pid) return 'displaced'
    if (lock?.ready) return 'ready'
    const exit = await Promise.race([kept.exited, sleep(10)])
    if (exit) return { failure: `ended at its start with ${exit.signal ?? exit.code}` }
  }
  return { failure: `was not ready within ${readyWithinMs / 1000} s` }
}
