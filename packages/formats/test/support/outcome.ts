import assert from 'node:assert/strict'
import type { StructuralCode } from '../../src/recording.ts'
import type { Collected } from './collect.ts'

// Questions that tests ask of what a reader told.

export function countOf({ channels }: Collected): number {
  return channels.reduce((sum, { count }) => sum + count, 0)
}

export function codesOf({ findings }: Collected): StructuralCode[] {
  return findings.map(({ code }) => code).sort()
}

export function detailOf({ findings }: Collected, code: StructuralCode): string {
  const finding = findings.find((finding) => finding.code === code)
  assert.ok(finding, `no ${code} among ${findings.map(({ code }) => code)}`)
  return finding.detail
}

/** As a golden file holds it: without how it was read. */
export function toJson({ originNs, timebase, channels, markers, findings }: Collected): unknown {
  const told = { originNs, timebase, channels, markers, findings }
  return JSON.parse(
    JSON.stringify(told, (_key, value) => (typeof value === 'bigint' ? value.toString() : value)),
  )
}
