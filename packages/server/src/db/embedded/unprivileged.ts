/**
 * PostgreSQL refuses to run as root. When we are root it runs in a user namespace of its own: there its uid is not
 * 0, while its files stay root's, so it works below a private home directory and needs no account. Where that is
 * refused (Docker's default seccomp profile) it runs as the owner of the data directory or as nobody.
 */
import { spawnSync } from 'node:child_process'
import { chmodSync, chownSync, lchownSync, lstatSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export type Account = {
  /** Words put before a command. */
  prefix: string[]
  /** The user a command is spawned as, where that is not us. */
  ids?: { uid: number; gid: number }
}

/** The account to run PostgreSQL as, one that can use both the data directory and the program. */
export function unprivileged(dataDir: string, postgres: string, rootMode?: 'nobody'): Account {
  if (process.getuid?.() !== 0) return { prefix: [] }
  for (const account of candidates(dataDir, rootMode)) {
    if (account.ids) admit(account.ids, dataDir)
    if (canUse(account, postgres, dataDir)) return account
  }
  throw new Error(
    `PostgreSQL does not run as root, and neither a user namespace (unshare --user) nor another account can use ` +
      `${dataDir} and ${postgres}; run Tapedeck as an ordinary user, make the directories above both searchable ` +
      'for others (chmod o+x), or set DATABASE_URL',
  )
}

/** Gives a file, or a directory with all in it, to the account. */
export function handOver(path: string, { ids }: Account): void {
  if (!ids || lstatSync(path).uid === ids.uid) return
  if (lstatSync(path).isDirectory()) {
    for (const entry of readdirSync(path, { recursive: true, encoding: 'utf8' })) {
      lchownSync(join(path, entry), ids.uid, ids.gid)
    }
  }
  // Last, so that its owner says whether all of it was done.
  lchownSync(path, ids.uid, ids.gid)
}

function candidates(dataDir: string, rootMode?: 'nobody'): Account[] {
  const clusterOwner = ownerBesidesRoot(join(dataDir, 'pg18'))
  if (clusterOwner) return [clusterOwner]
  if (rootMode === 'nobody') return nobody()
  const dataOwner = ownerBesidesRoot(dataDir)
  return [{ prefix: ['unshare', '--user'] }, ...(dataOwner ? [dataOwner] : []), ...nobody()]
}

function ownerBesidesRoot(path: string): Account | undefined {
  const stat = lstatSync(path, { throwIfNoEntry: false })
  return stat && stat.uid !== 0 ? { prefix: [], ids: { uid: stat.uid, gid: stat.gid } } : undefined
}

function nobody(): Account[] {
  const line = /^nobody:[^:]*:(\d+):(\d+):/m.exec(readFileSync('/etc/passwd', 'utf8'))
  return line ? [{ prefix: [], ids: { uid: Number(line[1]), gid: Number(line[2]) } }] : []
}

/** Lets the account pass through our data directory, not list it. Directories above it are not ours to open. */
function admit(ids: { gid: number }, dataDir: string): void {
  const { uid, mode } = lstatSync(dataDir)
  if (uid !== 0 || mode & 0o001) return
  chownSync(dataDir, uid, ids.gid)
  chmodSync(dataDir, (mode & 0o777) | 0o010)
}

function canUse(account: Account, postgres: string, dataDir: string): boolean {
  const [program = 'test', ...args] = [...account.prefix, 'test', '-x', postgres, '-a', '-x', dataDir]
  return spawnSync(program, args, { ...account.ids, stdio: 'ignore' }).status === 0
}
