/**
 * Reads postmaster.pid, PostgreSQL's lock on its directory, and tells a live holder from a stale lock. PostgreSQL
 * takes any live process with the pid in the lock for a server and refuses to start; after a crash that pid may
 * belong to another program (small pids in a restarted container) or to a zombie. We look closer: the process names
 * the directory on its command line, or somebody is attached to the server's shared memory, or its socket answers
 * (a server in another container on the same volume has no pid here).
 */
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, rmSync, statSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { systemCode } from '../../errors.ts'

export type Hold =
  /** `pid` is unknown while the holder writes its lock. */
  | { state: 'held'; pid: number | undefined }
  /** `foreignPid` is named by a stale lock and belongs to a process that is not the server. */
  | { state: 'free'; foreignPid?: number }

export async function whoHolds(clusterDir: string): Promise<Hold> {
  const lockFile = join(clusterDir, 'postmaster.pid')
  removeNeverWritten(lockFile)
  const lock = readLock(clusterDir)
  if (!lock) return existsSync(lockFile) ? { state: 'held', pid: undefined } : { state: 'free' }
  const command = commandOf(lock.pid)
  if (command?.includes(`-D ${clusterDir} `) || isAttached(lock.memory) || (await answers(lock))) {
    return { state: 'held', pid: lock.pid }
  }
  return command === undefined ? { state: 'free' } : { state: 'free', foreignPid: lock.pid }
}

export type Lock = { pid: number; port: number; socketDir: string; memory: string; ready: boolean }

/** What the lock says; while a server starts, its later lines are missing. */
export function readLock(clusterDir: string): Lock | undefined {
  const text = readIfThere(join(clusterDir, 'postmaster.pid'))
  if (!text) return undefined
  const [pid, , , port, socketDir = '', , memory = '', status = ''] = text.split('\n')
  return { pid: Number(pid), port: Number(port), socketDir, memory, ready: status.trim() === 'ready' }
}

/** Whether somebody listens on the socket. The server logs nothing for a connection that says nothing. */
export async function answers({ socketDir, port }: Pick<Lock, 'socketDir' | 'port'>): Promise<boolean> {
  if (socketDir === '') return false
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const socket = connect(join(socketDir, `.s.PGSQL.${port}`))
  socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
  return promise.finally(() => socket.destroy())
}

/**
 * A power cut can leave the lock without content, and PostgreSQL would refuse it for good. An empty lock of this
 * very second is being written by another start.
 */
function removeNeverWritten(lockFile: string): void {
  const stat = statSync(lockFile, { throwIfNoEntry: false })
  if (stat?.size === 0 && Math.abs(Date.now() - stat.mtimeMs) > 1000) rmSync(lockFile, { force: true })
}

/** The command line of a process, empty for a zombie; undefined without such a process. */
function commandOf(pid: number): string | undefined {
  if (process.platform === 'linux') return readIfThere(`/proc/${pid}/cmdline`)?.replaceAll('\0', ' ')
  const ps = spawnSync('ps', ['-ww', '-o', 'command=', '-p', `${pid}`], { encoding: 'utf8' })
  return ps.status === 0 ? ps.stdout : undefined
}

/** `memory` is key and id of a shared memory segment as the lock has them; the kernel prints the key with a sign. */
function isAttached(memory: string): boolean {
  const [key, id] = memory.trim().split(/\s+/)
  if (key === undefined || id === undefined) return false
  const signedKey = `${BigInt.asIntN(32, BigInt(key))}`
  const segments = readIfThere('/proc/sysvipc/shm')?.split('\n') ?? []
  return segments.some((line) => {
    const [segmentKey, segmentId, , , , , attached] = line.trim().split(/\s+/)
    return segmentKey === signedKey && segmentId === id && attached !== '0'
  })
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    // ESRCH: the process ended while its file in /proc was read.
    if (systemCode(error) === 'ENOENT' || systemCode(error) === 'ESRCH') return undefined
    throw error
  }
}
