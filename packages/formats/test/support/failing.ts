import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Reader, Source } from '../../src/recording.ts'
import { bytesSource, collect } from './collect.ts'

/** What is no fault of the file is passed on: a source that cannot be read, and a scan that is called off. */
export async function passesOnFaults(reader: Reader, bytes: Uint8Array): Promise<void> {
  const failing: Source = {
    size: () => bytes.length,
    read: () => Promise.reject(new Error('storage is gone')),
  }
  await assert.rejects(collect(reader, failing), /storage is gone/)
  const tempDir = await mkdtemp(join(tmpdir(), 'tapedeck-scan-'))
  try {
    const nobody = {
      origin() {},
      message() {},
      content() {},
      marker() {},
      finding() {},
      progress() {},
      channel: () => 0,
    }
    const options = { signal: AbortSignal.abort(new Error('called off')), tempDir, full: false }
    await assert.rejects(reader.scan(bytesSource(bytes), nobody, options), /called off/)
  } finally {
    await rm(tempDir, { recursive: true })
  }
}
