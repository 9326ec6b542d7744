// Reaching into decoded messages, whose shape is known only by their names.

export function field(value: unknown, ...path: (string | number)[]): unknown {
  let at = value
  for (const step of path) at = typeof at === 'object' && at !== null ? Reflect.get(at, step) : undefined
  return at
}

export function numberAt(value: unknown, ...path: (string | number)[]): number | undefined {
  const found = field(value, ...path)
  return typeof found === 'number' ? found : typeof found === 'bigint' ? Number(found) : undefined
}

export function vectorAt(value: unknown, name: string): [number, number, number] | undefined {
  const [x, y, z] = ['x', 'y', 'z'].map((axis) => numberAt(value, name, axis))
  return x !== undefined && y !== undefined && z !== undefined ? [x, y, z] : undefined
}

export function textAt(value: unknown, ...path: (string | number)[]): string {
  const found = field(value, ...path)
  return typeof found === 'string' ? found : ''
}
