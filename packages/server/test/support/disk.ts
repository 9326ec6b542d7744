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
  const paths = await readdir(join(dataDir, 'recordings'), { recursive: true })
  return paths.filter((path) => path.includes(sessionId)).sort()
}

/** The files of one part. */
export async function partFiles(dataDir: string, sessionId: string, number: number): Promise<string[]> {
  const name = `${sessionId}/${String(number).padStart(5, '0')}-`
  return (await filesOf(dataDir, sessionId)).filter((path) => path.includes(name))
}
