/** Builds the console unless it is built from what is there; `node` runs the build. */
export function ensureConsole(root: string, node: string): void
