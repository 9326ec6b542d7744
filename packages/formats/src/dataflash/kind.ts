import type { Block } from '../linear/sweep.ts'

// What a FMT record says of one kind of row: `type, length, name[4], format[16], labels[64]`. The format has a letter
// for each column, the labels are separated by commas.

export type Kind = {
  name: string
  /** `name,format,label,label…`, as ArduPilot's own tools write it. */
  text: string
  /** Of a row, head included. */
  length: number
  /** Where a column stands in the row, head included; undefined where there is none of this name and these types. */
  column(label: string, types: string): number | undefined
  labels: string[]
  time: { at: number; unit: 'us' | 'ms' } | undefined
  /** Column that tells several sensors of a kind apart, by its label until FMTU says which. */
  instanceAt: number | undefined
  channels: Map<number, number>
}

export const FMT = 128
export const FMT_BYTES = 89
export const HEAD_BYTES = 3

const columnBytes: Record<string, number> = {
  ...{ b: 1, B: 1, M: 1, h: 2, H: 2, c: 2, C: 2, g: 2, i: 4, I: 4, e: 4, E: 4, f: 4, L: 4, n: 4 },
  ...{ d: 8, q: 8, Q: 8, N: 16, Z: 64, a: 64 },
}

/** As ArduPilot calls the second column where there are several IMUs, receivers or filters (C: core). */
const instanceLabels = new Set(['I', 'Inst', 'Instance', 'IMU', 'C'])

/** Undefined where length and format contradict each other: then the record is damaged. */
export function readKind({ bytes, view }: Block, at: number): { type: number; kind: Kind | undefined } {
  const type = view.getUint8(at + 3)
  const length = view.getUint8(at + 4)
  const name = fixedText(bytes.subarray(at + 5, at + 9))
  const format = fixedText(bytes.subarray(at + 9, at + 25))
  const labels = fixedText(bytes.subarray(at + 25, at + 89)).split(',')
  const columns = new Map<string, { at: number; type: string }>()
  let end = HEAD_BYTES
  for (const [index, letter] of [...format].entries()) {
    const label = labels[index]
    if (label !== undefined) columns.set(label, { at: end, type: letter })
    end += columnBytes[letter] ?? Number.NaN
  }
  if (end !== length || !/^\w{1,4}$/.test(name)) return { type, kind: undefined }
  const column = (label: string, types: string) => {
    const found = columns.get(label)
    return found && types.includes(found.type) ? found.at : undefined
  }
  const text = `${name},${format},${labels.join(',')}`
  const instanceAt = instanceLabels.has(labels[1] ?? '') ? column(labels[1] ?? '', 'B') : undefined
  const kind = {
    name,
    text,
    length,
    column,
    labels,
    time: timeColumn(column),
    instanceAt,
    channels: new Map(),
  }
  return { type, kind }
}

/** Old logs count milliseconds, and their GPS rows call the time of the week TimeMS and that of the board T. */
function timeColumn(column: Kind['column']): Kind['time'] {
  const us = column('TimeUS', 'Q') ?? column('US', 'Q')
  if (us !== undefined) return { at: us, unit: 'us' }
  const ms = column('Week', 'H') === undefined ? column('TimeMS', 'I') : column('T', 'I')
  return ms === undefined ? undefined : { at: ms, unit: 'ms' }
}

export function fixedText(bytes: Uint8Array): string {
  const end = bytes.indexOf(0)
  return Buffer.from(end < 0 ? bytes : bytes.subarray(0, end)).toString('latin1')
}
