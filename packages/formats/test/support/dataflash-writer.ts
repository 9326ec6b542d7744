import { bytesOf, u16, u32, u64 } from './records.ts'

// DataFlash rows as ArduPilot writes them.

const lengths: Record<string, number> = { B: 1, M: 1, H: 2, I: 4, f: 4, Q: 8, N: 16, Z: 64, n: 4 }

function fixed(text: string, bytes: number): Uint8Array {
  const result = new Uint8Array(bytes)
  result.set(Buffer.from(text).subarray(0, bytes))
  return result
}

export function row(type: number, ...parts: Parameters<typeof bytesOf>): Uint8Array {
  return bytesOf([0xa3, 0x95, type], ...parts)
}

export function describe(type: number, name: string, format: string, labels: string): Uint8Array {
  const length = 3 + [...format].reduce((sum, letter) => sum + (lengths[letter] ?? 0), 0)
  return row(128, [type, length], fixed(name, 4), fixed(format, 16), fixed(labels, 64))
}

export const describeItself = () =>
  row(128, [128, 89], fixed('FMT', 4), fixed('BBnNZ', 16), fixed('Type,Length', 64))
export const units = (us: number, type: number, ids: string) =>
  row(118, u64(us), [type], fixed(ids, 16), fixed('', 16))
export const imu = (us: number, instance = 0) => row(163, u64(us), [instance], new Uint8Array(12).fill(9))
export const gps = (us: number, week: number, ms: number, status = 3) =>
  row(94, u64(us), [status], u32(ms), u16(week))
export const mode = (us: number, number: number) => row(122, u64(us), [number, number, 1])
export const event = (us: number, id: number) => row(181, u64(us), [id])
export const message = (us: number, text: string) => row(59, u64(us), fixed(text, 64))
export const file = (name: string) => row(202, fixed(name, 16), [0, 0, 0, 0, 1], fixed('x', 64))

export const descriptions = () =>
  bytesOf(
    describeItself(),
    describe(118, 'FMTU', 'QBNN', 'TimeUS,FmtType,UnitIds,MultIds'),
    describe(163, 'IMU', 'QBfff', 'TimeUS,N,GyrX,GyrY,GyrZ'),
    describe(94, 'GPS', 'QBIH', 'TimeUS,Status,GMS,GWk'),
    describe(122, 'MODE', 'QMBB', 'TimeUS,Mode,ModeNum,Rsn'),
    describe(181, 'EV', 'QB', 'TimeUS,Id'),
    describe(59, 'MSG', 'QZ', 'TimeUS,Message'),
    describe(202, 'FILE', 'NIBZ', 'FileName,Offset,Length,Data'),
  )
