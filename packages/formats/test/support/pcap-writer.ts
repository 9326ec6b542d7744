import { bytesOf, u16, u32 } from './records.ts'

// Captures as tcpdump writes them, in both forms and both byte orders.

export type Order = { little: boolean }

export const big = { little: false }
export const little = { little: true }

export function udp(
  port: number,
  payload: Uint8Array,
  { fragment = 0, total = payload.length } = {},
): Uint8Array {
  const ip = bytesOf(
    [0x45, 0],
    u16(28 + payload.length, false),
    [0, 1],
    u16(fragment, false),
    [64, 17, 0, 0],
    new Uint8Array(8),
  )
  return bytesOf(ip, u16(9999, false), u16(port, false), u16(8 + total, false), [0, 0], payload)
}

export function udp6(port: number, payload: Uint8Array): Uint8Array {
  const ip = bytesOf([0x60, 0, 0, 0], u16(8 + payload.length, false), [17, 64], new Uint8Array(32))
  return bytesOf(ip, u16(9999, false), u16(port, false), u16(8 + payload.length, false), [0, 0], payload)
}

export function ethernet(packet: Uint8Array, { type = 0x0800, vlan = false } = {}): Uint8Array {
  return bytesOf(new Uint8Array(12), vlan ? [0x81, 0, 0, 5] : [], u16(type, false), packet)
}

export function header({ little }: Order, { nanoseconds = false, linkType = 1 } = {}): Uint8Array {
  const magic = nanoseconds ? 0xa1b23c4d : 0xa1b2c3d4
  return bytesOf(
    u32(magic, little),
    u16(2, little),
    u16(4, little),
    new Uint8Array(8),
    u32(65_535, little),
    u32(linkType, little),
  )
}

export function packet(
  { little }: Order,
  sec: number,
  fraction: number,
  frame: Uint8Array,
  wireBytes = frame.length,
) {
  return bytesOf(
    u32(sec, little),
    u32(fraction, little),
    u32(frame.length, little),
    u32(wireBytes, little),
    frame,
  )
}

export function block({ little }: Order, type: number, ...parts: Parameters<typeof bytesOf>): Uint8Array {
  const body = bytesOf(...parts)
  const padding = (4 - (body.length % 4)) % 4
  const length = u32(12 + body.length + padding, little)
  return bytesOf(u32(type, little), length, body, new Uint8Array(padding), length)
}

export const section = (order: Order) =>
  block(
    order,
    0x0a0d0d0a,
    u32(0x1a2b3c4d, order.little),
    u16(1, order.little),
    u16(0, order.little),
    new Uint8Array(8).fill(255),
  )

/** `resolution` as in the option: 6 for microseconds, 9 for nanoseconds. */
export const captureInterface = (order: Order, { linkType = 1, resolution = 6 } = {}) =>
  block(
    order,
    1,
    u16(linkType, order.little),
    [0, 0],
    u32(65_535, order.little),
    u16(9, order.little),
    u16(1, order.little),
    [resolution, 0, 0, 0],
    u32(0, order.little),
  )

export function enhanced(
  order: Order,
  ticks: bigint,
  frame: Uint8Array,
  { from = 0, wireBytes = frame.length } = {},
) {
  const part = (value: number | bigint) => u32(Number(value), order.little)
  return block(
    order,
    6,
    part(from),
    part(ticks >> 32n),
    part(ticks & 0xffffffffn),
    part(frame.length),
    part(wireBytes),
    frame,
  )
}

export const simple = (order: Order, frame: Uint8Array) =>
  block(order, 3, u32(frame.length, order.little), frame)

export const statistics = (order: Order, dropped: number) =>
  block(
    order,
    5,
    u32(0, order.little),
    new Uint8Array(8),
    u16(5, order.little),
    u16(8, order.little),
    order.little ? [dropped, 0, 0, 0, 0, 0, 0, 0] : [0, 0, 0, 0, 0, 0, 0, dropped],
    u32(0, order.little),
  )
