import { existsSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'

// What the service has on its disk, as an operator would look.

/** Files on their way in; those of the readiness probe do not count. */
export async function incomingFiles(dataDir: string): Promise<string[]> {
  const names = await readdir(join(dataDir, 'recordings', 'incoming'))
  return names.filter((name) => !name.startsWith('probe-'))
}

/** Every file and folder that bears the session's name, relative to the recordings. */
export async function filesOf(dataDir: string, sessionId: string): Promise<string[]> {
  const paths = await pathsUnder(join(dataDir, 'recordings'))
  return paths.filter((path) => path.includes(sessionId)).sort()
}

// A folder that is deleted while the walk is on its way makes readdir fail as a whole: the walk begins again.
async function pathsUnder(folder: string): Promise<string[]> {
  for (;;) {
    try {
      return await readdir(folder, { recursive: true })
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || !existsSync(folder)) throw error
    }
  }
}

/** The files of one part. */
export async function partFiles(dataDir: string, sessionId: string, number: number): Promise<string[]> {
  const name = `${sessionId}/${String(number).padStart(5, '0')}-`
  return (await filesOf(dataDir, sessionId)).filter((path) => path.includes(name))
}
