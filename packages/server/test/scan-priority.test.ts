import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { getPriority } from 'node:os'
import { test } from 'node:test'
import { LOWER_PRIORITY, scan } from '../src/processing/scan.ts'

test('a scan yields to whoever serves on the same machine', {
  skip: process.platform !== 'linux',
}, async () => {
  const bytes = new TextEncoder().encode('no recording at all')
  const found: number[] = []
  const recording = {
    size: () => bytes.length,
    async read(offset: number, length: number) {
      found.push(...childrenOf(process.pid).map((pid) => getPriority(pid)))
      return bytes.slice(offset, offset + length)
    },
  }
  await scan(
    {
      source: { kind: 'asked', bytes: bytes.length },
      filename: 'run.mcap',
      segmentNs: 30e9,
      expected: [],
      calibrationVersion: null,
    },
    {
      limits: { memoryBytes: 2 ** 30, timeMs: 60_000 },
      signal: new AbortController().signal,
      onProgress() {},
      recording,
    },
  )
  assert.ok(found.length > 0)
  assert.deepEqual(new Set(found), new Set([LOWER_PRIORITY]))
})

function childrenOf(parent: number): number[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  return pids.map(Number).filter((pid) => {
    try {
      // After the name in brackets: the state, then the parent.
      const [, ppid] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
      return Number(ppid) === parent
    } catch {
      return false
    }
  })
}
