import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'

export const migrationsDir = join(import.meta.dirname, '..', '..', 'migrations')

export type Migration = {
  version: number
  name: string
  sql: string
  sha256: string
  /** Code that was written for this version or a later one goes on working once the migration is applied. */
  oldestCode: number
}

/** `-- oldest code: 0005` as the first line. Without it no older code can run beside the migration. */
const OLDEST_CODE = /^-- oldest code: (\d{4})$/m

export async function readMigrations(dir: string): Promise<Migration[]> {
  const files = (await readdir(dir)).filter((file) => file.endsWith('.sql')).sort()
  return Promise.all(
    files.map(async (name, index) => {
      const version = index + 1
      if (!name.startsWith(`${String(version).padStart(4, '0')}_`)) {
        throw new Error(`migration ${name} is out of sequence: expected number ${version}`)
      }
      const sql = await readFile(join(dir, name), 'utf8')
      const [firstLine = ''] = sql.split('\n', 1)
      const oldestCode = Number(OLDEST_CODE.exec(firstLine)?.[1] ?? version)
      if (oldestCode > version) throw new Error(`migration ${name} asks for code newer than itself`)
      return { version, name, sql, sha256: createHash('sha256').update(sql).digest('hex'), oldestCode }
    }),
  )
}
