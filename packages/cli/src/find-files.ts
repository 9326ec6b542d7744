import { glob, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { UsageError } from './usage.ts'

/** The files that the arguments name: files, all that is in folders, and patterns. Each once. */
export async function findFiles(args: string[]): Promise<string[]> {
  if (args.length === 0) throw new UsageError('expected FILE…, found none')
  const found = new Set<string>()
  for (const arg of args) for (const file of await filesOf(arg)) found.add(file)
  return [...found]
}

async function filesOf(arg: string): Promise<string[]> {
  const kind = await stat(arg).catch(() => undefined)
  if (kind?.isDirectory()) return filesIn(arg)
  // One that is not there is told when it is opened, unless it was meant as a pattern.
  if (kind || !/[*?[{]/.test(arg)) return [arg]
  const matches: string[] = []
  for await (const match of glob(arg)) if ((await stat(match)).isFile()) matches.push(match)
  if (matches.length === 0) throw new Error(`no file is named like ${arg}`)
  return matches.sort()
}

/** Hidden ones are not recordings. */
async function filesIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const files = entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))
    .filter(
      (path) =>
        !path
          .slice(folder.length)
          .split('/')
          .some((step) => step.startsWith('.')),
    )
  if (files.length === 0) throw new Error(`there is no file in the folder ${folder}`)
  return files.sort()
}
