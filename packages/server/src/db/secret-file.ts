import { randomBytes } from 'node:crypto'
import { link, mkdir, open, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { systemCode } from '../errors.ts'

/** The secret of an embedded service: made where there is none, mode 0600, and never changed after. */
export async function secretOf(dataDir: string): Promise<string> {
  const path = join(dataDir, 'secret')
  const known = await read(path)
  if (known) return known
  await mkdir(dataDir, { recursive: true })
  const fresh = `${path}.${randomBytes(6).toString('hex')}`
  const file = await open(fresh, 'wx', 0o600)
  try {
    await file.writeFile(randomBytes(32).toString('base64url'))
    await file.sync()
  } finally {
    await file.close()
  }
  // A link fails where a file exists: of two first starts one wins, and both then read the winner's.
  await link(fresh, path).catch((error: unknown) => {
    if (systemCode(error) !== 'EEXIST') throw error
  })
  await rm(fresh)
  const dir = await open(dataDir)
  await dir.sync()
  await dir.close()
  return readFile(path, 'utf8')
}

/** The one before, where an operator has moved it away to have a new one made. */
export function previousSecretOf(dataDir: string): Promise<string | undefined> {
  return read(join(dataDir, 'secret.previous'))
}

async function read(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return undefined
    throw error
  }
}
