import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { chmodSync, cpSync, existsSync, lstatSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import { binaries, platformPackage } from '../../src/db/embedded/binaries.ts'
import { tempDir } from './temp-dir.ts'
import { undoAfter } from './undo.ts'

const run = promisify(execFile)
const skip = process.platform === 'linux' ? false : 'the package of this platform needs no links'

test('an install without scripts gets its library links, also from several processes at once', {
  skip,
}, async (t) => {
  const packageDir = copyWithoutLinks(t)
  assert.ok(!existsSync(join(packageDir, 'native/lib/libicuuc.so.60')))
  await Promise.all([1, 2, 3].map(() => findIn(packageDir)))
  const links: { source: string; target: string }[] = JSON.parse(
    readFileSync(join(packageDir, 'native/pg-symlinks.json'), 'utf8'),
  )
  for (const { source, target } of links) {
    assert.ok(existsSync(join(packageDir, target)), `${target} leads to ${source}`)
  }
  const { stdout } = await run(binaries(packageDir).postgres, ['--version'])
  assert.match(stdout, /^postgres \(PostgreSQL\) 18/)
})

test('a read-only install is fine when it has its links, and says what to do when not', {
  skip,
}, async (t) => {
  const packageDir = copyWithoutLinks(t)
  const lib = join(packageDir, 'native/lib')
  undoAfter(t, () => chmodSync(lib, 0o755))
  chmodSync(lib, 0o555)
  await assert.rejects(
    findIn(packageDir, 65534),
    /library link .* is missing and cannot be made: .*npm rebuild/,
  )
  chmodSync(lib, 0o755)
  binaries(packageDir)
  chmodSync(lib, 0o555)
  await findIn(packageDir, 65534)
})

test('a platform without binaries is named, with the way out', () => {
  assert.throws(
    () => platformPackage('plan9-mips'),
    /no PostgreSQL binaries for plan9-mips.*set DATABASE_URL/,
  )
  assert.throws(() => platformPackage('win32-x64'), /does not run on Windows; set DATABASE_URL/)
})

function copyWithoutLinks(t: TestContext): string {
  const dir = tempDir(t)
  chmodSync(dir, 0o755)
  const packageDir = join(dir, 'package')
  cpSync(platformPackage(), packageDir, {
    recursive: true,
    filter: (path) => !lstatSync(path).isSymbolicLink(),
  })
  return packageDir
}

/** Calls binaries() in a process of its own, as another user where we are root: root may write everywhere. */
async function findIn(packageDir: string, uid?: number): Promise<void> {
  const module = new URL('../../src/db/embedded/binaries.ts', import.meta.url)
  const code = `import { binaries } from '${module}'; binaries(${JSON.stringify(packageDir)})`
  const asOther = uid !== undefined && process.getuid?.() === 0 ? { uid, gid: uid } : {}
  await run(process.execPath, ['--input-type=module', '-e', code], asOther)
}
