// bzip2 by WebAssembly, loaded when the first chunk needs it. Its start-up code installs handlers for every uncaught
// error of the process, which rethrow and so end it; they are taken away again at once.

export type Bunzip2 = (bytes: Uint8Array, sizeBytes: number) => Uint8Array

const EVENTS = ['uncaughtException', 'unhandledRejection'] as const

export async function loadBunzip2(): Promise<Bunzip2> {
  const { default: Bzip2 } = await import('@foxglove/wasm-bz2')
  const before = EVENTS.map((event) => new Set(process.rawListeners(event)))
  const starting = Bzip2.init()
  // Before anything is awaited, so that whatever is new is theirs.
  for (const [index, event] of EVENTS.entries()) removeNew(event, before[index])
  const bzip2 = await starting
  return (bytes, sizeBytes) => bzip2.decompress(bytes, sizeBytes)
}

function removeNew(event: (typeof EVENTS)[number], before: ReadonlySet<unknown> | undefined) {
  for (const listener of process.rawListeners(event)) {
    if (!before?.has(listener)) process.removeListener(event, asListener(listener))
  }
}

/** The types of Node say Function; every listener can be called. */
function asListener(listener: unknown): () => void {
  if (typeof listener !== 'function') throw new TypeError('a listener that is no function')
  return listener as () => void
}
