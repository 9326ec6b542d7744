/** The command was used wrongly: exit code 2 and a pointer to the help. */
export class UsageError extends Error {}

export type Flags = {
  json?: boolean | undefined
  org?: string | undefined
  permissions?: string | undefined
  test?: boolean | undefined
  name?: string | undefined
}

/** Exactly the arguments that the command takes. */
export function expectArguments(given: string[], ...names: string[]): string[] {
  if (given.length !== names.length) {
    const wanted = names.length === 0 ? 'no argument' : names.join(' ')
    throw new UsageError(`expected ${wanted}, found ${given.length === 0 ? 'none' : given.join(' ')}`)
  }
  return given
}
