// What the columns of a table measure, by the names that data sets and loggers give them.

const subjects: [string, RegExp[]][] = [
  ['imu', [/^w_|gyr|angular_?vel|omega/, /^a_|acc/]],
  ['gps', [/^lat/, /^(lon|lng)/]],
  ['pose', [/^(t|p_.*_|pos.*[_.])?x$/, /^q.*w$/]],
]

/** `imu`, `gps`, `pose`, or `table` where the columns do not say. */
export function subjectOf(columns: string[]): string {
  // `w_RS_S_x [rad s^-1]` is `w_rs_s_x`.
  const names = columns.map((column) => column.replace(/[\s([].*$/, '').toLowerCase())
  const found = subjects.find(([, signs]) => signs.every((sign) => names.some((name) => sign.test(name))))
  return found?.[0] ?? 'table'
}
