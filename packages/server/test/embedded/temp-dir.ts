import { mkdtempSync, realpathSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { undoAfter } from './undo.ts'

/** A private directory that is removed after the test. */
export function tempDir(t: TestContext): string {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), 'embedded-test-')))
  undoAfter(t, () => rm(dir, { recursive: true, force: true, maxRetries: 5 }))
  return dir
}
