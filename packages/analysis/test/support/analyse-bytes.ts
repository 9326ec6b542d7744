import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type AnalyseOptions, analyse } from '../../src/analyse.ts'
import type { Analysis } from '../../src/analysis.ts'

/** What is concluded of a file that is held in memory. */
export async function analyseBytes(
  bytes: Uint8Array,
  filename: string,
  options: Partial<AnalyseOptions> = {},
): Promise<Analysis> {
  const tempDir = await mkdtemp(join(tmpdir(), 'tapedeck-scan-'))
  const source = {
    size: () => bytes.length,
    async read(offset: number, length: number) {
      if (offset < 0 || length < 0 || offset + length > bytes.length)
        throw new RangeError(`read ${offset}+${length} of ${bytes.length} bytes`)
      return bytes.slice(offset, offset + length)
    },
  }
  try {
    return await analyse(source, { filename, tempDir, signal: new AbortController().signal, ...options })
  } finally {
    await rm(tempDir, { recursive: true, force: true })
  }
}

/** As a golden file holds it: without the timeline. */
export function summaryOf({ timeline: _, ...analysis }: Analysis): unknown {
  return JSON.parse(
    JSON.stringify(analysis, (_key, value) => (typeof value === 'bigint' ? value.toString() : value)),
  )
}
