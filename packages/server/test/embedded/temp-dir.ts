import { mkdtempSync, realpathSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Ending } from '../support/ending.ts'
import { undoAfter } from './undo.ts'

/** A private directory that is removed at the end. */
export function tempDir(t: Ending): string {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), 'embedded-test-')))
  undoAfter(t, () => rm(dir, { recursive: true, force: true, maxRetries: 5 }))
  return dir
}
