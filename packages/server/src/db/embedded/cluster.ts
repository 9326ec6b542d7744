/**
 * Makes the database cluster of a data directory once. initdb works in a directory of its own name beside the
 * cluster, which is then renamed: a rename onto a filled directory fails, so of several first starts at once one
 * wins and a kill in the middle leaves nothing half-made under the final name.
 */
import { closeSync, existsSync, fsyncSync, mkdtempSync, openSync, readdirSync, renameSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { systemCode } from '../../errors.ts'
import { spawnKept } from './keeper.ts'
import { openLog } from './server-log.ts'
import { type Account, handOver } from './unprivileged.ts'

export const superuser = 'tapedeck'

// Locale by PostgreSQL itself: an index sorted by the C library breaks when the library is updated.
const layout = [
  '--auth=trust',
  '--encoding=UTF8',
  '--locale=C',
  '--locale-provider=builtin',
  '--builtin-locale=C.UTF-8',
]

export function clusterDirOf(dataDir: string): string {
  return join(dataDir, 'pg18')
}

export async function ensureCluster(dataDir: string, initdb: string, account: Account): Promise<void> {
  if (!isCluster(dataDir)) {
    refuseOtherFiles(clusterDirOf(dataDir))
    await makeCluster(dataDir, initdb, account)
  }
  // Now that the cluster is there, an initdb that still runs beside it has lost: nothing beside it is of use.
  const leftovers = readdirSync(dataDir).filter((name) => name.startsWith('pg18.new'))
  await Promise.all(leftovers.map((name) => discard(join(dataDir, name))))
}

function refuseOtherFiles(clusterDir: string): void {
  if (!existsSync(clusterDir) || readdirSync(clusterDir).length === 0) return
  throw new Error(
    `${clusterDir} holds files but no PG_VERSION, so it is no database of Tapedeck; move it away`,
  )
}

async function makeCluster(dataDir: string, initdb: string, account: Account): Promise<void> {
  const fresh = mkdtempSync(join(dataDir, 'pg18.new-'))
  try {
    handOver(fresh, account)
    const failure = await run([initdb, '-D', fresh, '-U', superuser, ...layout], account, `${fresh}.log`)
    if (isCluster(dataDir)) return
    if (failure !== undefined) throw new Error(`PostgreSQL could not make its files in ${fresh}: ${failure}`)
    renameUnlessMade(fresh, dataDir)
  } finally {
    await discard(fresh)
    await discard(`${fresh}.log`)
  }
}

function isCluster(dataDir: string): boolean {
  return existsSync(join(clusterDirOf(dataDir), 'PG_VERSION'))
}

async function run(command: string[], account: Account, logFile: string): Promise<string | undefined> {
  const log = openLog(logFile)
  try {
    const { code, signal } = await (await spawnKept(command, account, log.fd)).exited
    return code === 0 ? undefined : `initdb ended with ${signal ?? code}: ${log.lastLines()}`
  } finally {
    log.close()
  }
}

function renameUnlessMade(fresh: string, dataDir: string): void {
  try {
    renameSync(fresh, clusterDirOf(dataDir))
  } catch (error) {
    if (isCluster(dataDir)) return
    throw error
  }
  syncDirectory(dataDir)
}

/** initdb has flushed its files; the new name is flushed with the directory it stands in. */
function syncDirectory(dir: string): void {
  const fd = openSync(dir, 'r')
  try {
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}

async function discard(path: string): Promise<void> {
  try {
    await rm(path, { recursive: true, force: true })
  } catch (error) {
    // A losing initdb still writes there; it discards its own, or the next start does.
    if (systemCode(error) !== 'ENOTEMPTY') throw error
  }
}
