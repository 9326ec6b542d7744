import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

// A Debian of its own below a folder, for programs that are newer than those of the machine. Takes root, and some minutes
// the first time; it stays for the next.

/** Makes the folder a Debian of this suite that has the packages, unless it is one. */
export function ensureChroot(root: string, suite: string, packages: string[]): void {
  if (!existsSync(root)) {
    const half = `${root}.half`
    release(half)
    rmSync(half, { recursive: true, force: true })
    if (spawnSync('debootstrap', ['--version']).error) install('', ['debootstrap'])
    // Every suite is made as the newest is; older machines have no script by the name of a newer suite.
    const script = '/usr/share/debootstrap/scripts/sid'
    run('debootstrap', ['--variant=minbase', suite, half, mirrorOf(suite), script])
    // Nothing that is installed is to start by itself.
    const policy = join(half, 'usr/sbin/policy-rc.d')
    writeFileSync(policy, '#!/bin/sh\nexit 101\n')
    chmodSync(policy, 0o755)
    mountProc(half)
    install(half, packages)
    release(half)
    renameSync(half, root)
  }
  mountProc(root)
}

/** The folder of this run, seen from within. What runs that were killed have left, tens of gigabytes each, goes. */
export function folderOfRun(root: string, name: string): string {
  const folder = '/var/tmp'
  for (const left of readdirSync(join(root, folder)))
    if (!existsSync(`/proc/${left.split('-').at(-1)}`))
      rmSync(join(root, folder, left), { recursive: true, force: true })
  return `${folder}/${name}-${process.pid}`
}

/** Lets go of what was mounted in it. */
export function release(root: string): void {
  if (isMounted(join(root, 'proc'))) run('umount', [join(root, 'proc')])
}

/** Where this machine gets its packages from; none is written down here. */
export function mirrorOf(suite: string): string {
  const { stdout } = spawnSync('apt-get', ['indextargets', '--format', '$(REPO_URI)'], { encoding: 'utf8' })
  const mirror = stdout?.split('\n').find((line) => line !== '' && !/security|updates/.test(line))
  if (!mirror) throw new Error(`apt names no mirror that ${suite} could be had from`)
  return mirror
}

/** Runs a command to its end, in the chroot if one is named; what it says is seen when it fails. */
export function run(command: string, args: string[], root = ''): string {
  const [program, all] = root === '' ? [command, args] : ['chroot', [root, command, ...args]]
  const { status, error, stdout, stderr } = spawnSync(program, all, {
    encoding: 'utf8',
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive', LC_ALL: 'C' },
    maxBuffer: 2 ** 28,
  })
  if (error || status !== 0)
    throw new Error(
      `${command} ${args.join(' ')}: ${error?.message ?? `${status} ${stdout.slice(-1000)}${stderr.slice(-2000)}`}`,
    )
  return stdout
}

/** An empty root is the machine itself. */
export function install(root: string, packages: string[]): void {
  const flags = ['-y', '--no-install-recommends', '-o', 'Acquire::Check-Valid-Until=false']
  run('apt-get', ['install', ...flags, ...packages], root)
}

function mountProc(root: string): void {
  const proc = join(root, 'proc')
  if (!isMounted(proc)) run('mount', ['-t', 'proc', 'proc', proc])
}

function isMounted(path: string): boolean {
  return readFileSync('/proc/mounts', 'utf8')
    .split('\n')
    .some((line) => line.split(' ')[1] === path)
}
