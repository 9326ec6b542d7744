// A recording of which something can be read, made without a library.

const START_NS = BigInt(Date.UTC(2026, 2, 14, 9)) * 1_000_000n
const STEP_NS = 10_000_000n
const HEAD =
  '#timestamp [ns],w_x [rad s^-1],w_y [rad s^-1],w_z [rad s^-1],a_x [m s^-2],a_y [m s^-2],a_z [m s^-2]'

/** A table of an inertial sensor at 100 Hz; about 70 bytes a row. */
export function imuTable(rows: number): Uint8Array<ArrayBuffer> {
  const line = (tick: number) => `${START_NS + BigInt(tick) * STEP_NS},0.01,0.02,0.03,0.1,0.2,9.81`
  return new TextEncoder().encode(
    `${[HEAD, ...Array.from({ length: rows }, (_, tick) => line(tick))].join('\n')}\n`,
  )
}
