import { bytesOf, u16, u64 } from './records.ts'

// ULog records as PX4 writes them.

export function header(startUs: number | bigint): Uint8Array {
  return bytesOf('ULog', [0x01, 0x12, 0x35, 0x01], u64(startUs))
}

export function record(type: string, payload: Uint8Array): Uint8Array {
  return bytesOf(u16(payload.length), type, payload)
}

export function flags(appended: (number | bigint)[] = []): Uint8Array {
  const incompatible = [appended.length > 0 ? 1 : 0, 0, 0, 0, 0, 0, 0, 0]
  return record('B', bytesOf(new Uint8Array(8), incompatible, ...[0, 1, 2].map((n) => u64(appended[n] ?? 0))))
}

export const format = (text: string) => record('F', bytesOf(text))
export const subscribe = (id: number, name: string, multi = 0) => record('A', bytesOf([multi], u16(id), name))
export const data = (id: number, ...parts: Parameters<typeof bytesOf>) =>
  record('D', bytesOf(u16(id), ...parts))
export const text = (us: number, message: string) => record('L', bytesOf('6', u64(us), message))
export const taggedText = (us: number, message: string) => record('C', bytesOf('6', u16(1), u64(us), message))
export const dropout = (ms: number) => record('O', u16(ms))
export const sync = () => record('S', Uint8Array.of(0x2f, 0x73, 0x13, 0x20, 0x25, 0x0c, 0xbb, 0x12))
export const parameter = (key: string) => record('P', bytesOf([key.length], key, [0, 0, 0, 0]))
