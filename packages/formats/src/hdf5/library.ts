import { Worker } from 'node:worker_threads'

// Questions to the HDF5 library, which lives in a thread. Whatever becomes of it there is a `LibraryFailure` here.

export class LibraryFailure extends Error {
  override name = 'LibraryFailure'
  /** Whether no other question will be answered either. */
  readonly ended: boolean

  constructor(message: string, ended: boolean) {
    super(message)
    this.ended = ended
  }
}

/** Undefined where the library cannot answer this question, but maybe the next. */
export async function attempt<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer
  } catch (error) {
    if (error instanceof LibraryFailure && !error.ended) return undefined
    throw error
  }
}

export type Entry = {
  name: string
  kind: 'group' | 'dataset' | 'other' | 'broken'
  shape: number[]
  /** Of one item of a dataset. */
  itemBytes: number
  /** `float64`, `uint8`, `string`, `other` … */
  type: string
}

export type Numbers = Float64Array | BigInt64Array

export type Library = {
  list(path: string): Promise<Entry[]>
  entry(path: string): Promise<Entry>
  attributes(path: string): Promise<Map<string, string | number>>
  attributeBytes(path: string, name: string): Promise<Uint8Array>
  /** Rows of a dataset of numbers, one behind the other. */
  read(path: string, from: number, to: number): Promise<Numbers>
  /** Sizes of datasets of bytes (-1 for what is none), with the content of those that are not too large. */
  bytes(paths: string[], maxBytes: number): Promise<Size[]>
  /** Reads rows to see whether they can be read. */
  touch(path: string, from: number, to: number): Promise<true>
  close(): Promise<void>
}

export type Size = { bytes: number; content: Uint8Array | undefined }

type Question =
  | { op: 'list' | 'entry' | 'attributes'; path: string }
  | { op: 'attributeBytes'; path: string; name: string }
  | { op: 'read' | 'touch'; path: string; from: number; to: number }
  | { op: 'bytes'; paths: string[]; maxBytes: number }
export type Request = Question & { id: number }
/** Each question is answered with what it asked for, or with why not. */
export type Answer = {
  failure?: string
  entries?: Entry[]
  attributes?: [string, string | number][]
  content?: Uint8Array
  numbers?: Numbers
  sizes?: Size[]
}

/** No question takes longer, unless the library has lost itself in the file. */
const ANSWER_TIMEOUT_MS = 60_000
/** The thread answers this by itself, once it has opened the file. */
const OPENED = 0
const NOTHING: Entry = { name: '', kind: 'broken', shape: [], itemBytes: 0, type: 'other' }

export async function openLibrary(path: string, signal: AbortSignal): Promise<Library> {
  const { ask, close } = startThread(path, signal)
  try {
    await ask(OPENED)
  } catch (error) {
    await close()
    throw error
  }
  let last = OPENED
  const put = (question: Question) => ask(++last, question)
  return {
    list: async (path) => (await put({ op: 'list', path })).entries ?? [],
    entry: async (path) => (await put({ op: 'entry', path })).entries?.[0] ?? NOTHING,
    attributes: async (path) => new Map((await put({ op: 'attributes', path })).attributes),
    attributeBytes: async (path, name) =>
      (await put({ op: 'attributeBytes', path, name })).content ?? new Uint8Array(),
    read: async (path, from, to) => (await put({ op: 'read', path, from, to })).numbers ?? new Float64Array(),
    bytes: async (paths, maxBytes) => (await put({ op: 'bytes', paths, maxBytes })).sizes ?? [],
    touch: (path, from, to) => put({ op: 'touch', path, from, to }).then(() => true as const),
    close,
  }
}

type Waiting = { resolve: (answer: Answer) => void; reject: (error: Error) => void }

function startThread(path: string, signal: AbortSignal) {
  const thread = new Worker(new URL('./worker.ts', import.meta.url), {
    workerData: path,
    stdout: true,
    stderr: true,
  })
  // The library prints what it does not like; unread, that would fill memory.
  thread.stdout.resume()
  thread.stderr.resume()
  const waiting = new Map<number, Waiting>()
  let ended: Error | undefined
  const end = (error: Error) => {
    ended ??= error
    for (const { reject } of waiting.values()) reject(error)
    waiting.clear()
  }
  thread.on('message', ({ id, ...answer }: Answer & { id: number }) => {
    const asked = waiting.get(id)
    waiting.delete(id)
    if (answer.failure === undefined) asked?.resolve(answer)
    else asked?.reject(new LibraryFailure(answer.failure, false))
  })
  thread.on('error', (error) => end(new LibraryFailure(error.message, true)))
  thread.on('exit', () => end(new LibraryFailure('the library ended', true)))

  const ask = (id: number, question?: Question): Promise<Answer> =>
    new Promise((resolve, reject) => {
      if (ended) return reject(ended)
      // Whoever does not answer in time is not asked again.
      const stop = (error: Error) => {
        end(error)
        thread.terminate()
      }
      const timer = setTimeout(
        () => stop(new LibraryFailure('the library does not answer', true)),
        ANSWER_TIMEOUT_MS,
      )
      const abort = () => stop(signal.reason instanceof Error ? signal.reason : new Error('aborted'))
      signal.addEventListener('abort', abort, { once: true })
      const settle =
        <T>(then: (value: T) => void) =>
        (value: T) => {
          clearTimeout(timer)
          signal.removeEventListener('abort', abort)
          then(value)
        }
      waiting.set(id, { resolve: settle(resolve), reject: settle(reject) })
      if (question) thread.postMessage({ ...question, id } satisfies Request)
    })
  return { ask, close: async () => void (await thread.terminate()) }
}
