/**
 * The embedded PostgreSQL: a real server that we start in the data directory and that ends with us. It listens on a
 * socket in a directory that only its own user may enter.
 */
import { existsSync, mkdirSync, realpathSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { binaries } from './binaries.ts'
import { clusterDirOf, ensureCluster, superuser } from './cluster.ts'
import { launch, type Server } from './launch.ts'
import { answers, readLock, whoHolds } from './postmaster.ts'
import { type Account, handOver, unprivileged } from './unprivileged.ts'

export type Connection = { host: string; port: number; user: string; database: string }

export type EmbeddedPostgres = {
  /** Options for pg.Pool / pg.Client. */
  connection: Connection
  /** Pid of the postmaster. */
  pid: number
  /** Resolves when the postmaster has ended, wanted or not. */
  exited: Promise<void>
  /** 'fast' ends all sessions; 'smart' lets other clients finish theirs. */
  stop(how?: 'fast' | 'smart'): Promise<void>
}

export type StartOptions = {
  /** How long to wait for a directory that another server holds. */
  waitMs?: number
  /** Called once, when that wait begins. */
  onWait?: (pid: number | undefined) => void
  /** Also listens on this port of 127.0.0.1, without a password. */
  listenTcpPort?: number
  /** Where an earlier server of ours listened, for clients that know no other address. */
  socketDir?: string
  /** As root: runs as the account nobody even where a user namespace could be had. */
  rootMode?: 'nobody'
}

export async function startEmbedded(dataDir: string, options: StartOptions = {}): Promise<EmbeddedPostgres> {
  const { initdb, postgres } = binaries()
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  // One name for the directory, however it was reached: by it we know our server among the processes.
  const realDataDir = realpathSync(dataDir)
  const account = unprivileged(realDataDir, postgres, options.rootMode)
  await ensureCluster(realDataDir, initdb, account)
  const { pid, exited, stop, ...socket } = await launchWhenFree(realDataDir, postgres, account, options)
  return { connection: connectionTo(socket), pid, exited, stop }
}

/**
 * The socket of a running embedded server of this data directory, if one runs and is ready to accept; for commands
 * that work beside a running service.
 */
export async function findRunning(dataDir: string): Promise<Connection | undefined> {
  if (!existsSync(dataDir)) return undefined
  const lock = readLock(clusterDirOf(realpathSync(dataDir)))
  return lock?.ready && (await answers(lock)) ? connectionTo(lock) : undefined
}

async function launchWhenFree(
  dataDir: string,
  postgres: string,
  account: Account,
  options: StartOptions,
): Promise<Server> {
  const { waitMs = 15_000, onWait, listenTcpPort, socketDir } = options
  const clusterDir = clusterDirOf(dataDir)
  const deadline = Date.now() + waitMs
  for (let waiting = false; ; await sleep(25)) {
    const hold = await whoHolds(clusterDir)
    if (hold.state === 'free') {
      handOver(clusterDir, account)
      const { foreignPid } = hold
      const server = await launch({ clusterDir, postgres, account, listenTcpPort, socketDir, foreignPid })
      if (server) return server
    } else if (!waiting) {
      // A server whose service was killed is on its way down, so most waits are short.
      waiting = true
      onWait?.(hold.pid)
    }
    if (Date.now() >= deadline) throw inUse(dataDir, readLock(clusterDir)?.pid)
  }
}

/** Another server holds the directory, and still does after the wait. */
export class DirectoryInUse extends Error {}

function inUse(dataDir: string, pid: number | undefined): DirectoryInUse {
  return new DirectoryInUse(
    `data directory ${dataDir} is in use by another Tapedeck (postmaster ${pid ?? 'unknown'}); ` +
      'stop it or set TAPEDECK_DATA_DIR to another directory',
  )
}

function connectionTo({ socketDir, port }: Pick<Server, 'socketDir' | 'port'>): Connection {
  return { host: socketDir, port, user: superuser, database: 'postgres' }
}
