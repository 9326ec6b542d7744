import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** What a bench has put up: a folder of its own, and how everything in it is taken down again. */
export type Stage = {
  dir: string
  /** Ends run in reverse order, however the bench ended. */
  after(end: () => unknown): void
  end(): Promise<void>
}

export async function openStage(): Promise<Stage> {
  const dir = await mkdtemp(join(tmpdir(), 'tapedeck-bench-'))
  const ends: (() => unknown)[] = []
  let ending: Promise<void> | undefined
  async function endAll(): Promise<void> {
    for (const end of ends.splice(0).reverse()) await end()
    await rm(dir, { recursive: true, force: true })
  }
  return {
    dir,
    after: (end) => void ends.push(end),
    end: () => {
      ending ??= endAll()
      return ending
    },
  }
}
