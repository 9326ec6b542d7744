import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Reader, Source, Visitor } from '../../src/recording.ts'

export type TellOptions = { signal?: AbortSignal; tempDir?: string; full?: boolean }

/** Scans with a visitor that only listens to what a test asks for. Channels are numbered as they come. */
export async function tellTo(
  heard: Partial<Visitor>,
  reader: Reader,
  source: Source,
  { signal = AbortSignal.timeout(60_000), tempDir, full = true }: TellOptions = {},
): Promise<void> {
  const folder = tempDir ?? (await mkdtemp(join(tmpdir(), 'tapedeck-scan-')))
  const nothing = () => {}
  let channels = 0
  const visitor: Visitor = {
    origin: nothing,
    channel: () => channels++,
    message: nothing,
    content: nothing,
    marker: nothing,
    finding: nothing,
    progress: nothing,
    ...heard,
  }
  try {
    await reader.scan(source, visitor, { signal, tempDir: folder, full })
  } finally {
    if (tempDir === undefined) await rm(folder, { recursive: true })
  }
}
