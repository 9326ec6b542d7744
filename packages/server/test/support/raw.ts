import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

// HTTP by hand, for what no well-behaved client would send: halves, garbage, silence.

export type RawAnswer = { status: number; headers: Headers; text: string; body: unknown }

export type Raw = {
  send(bytes: string | Uint8Array): Promise<void>
  /** The next answer on the connection, `100 Continue` included. */
  answer(): Promise<RawAnswer>
  hangUp(): void
  /** When the service has closed the connection. */
  closed: Promise<unknown>
}

export async function openRaw(url: string): Promise<Raw> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  await once(socket, 'connect')
  const inbox = openInbox(socket)
  return {
    send: (bytes) =>
      new Promise((resolve, reject) => socket.write(bytes, (error) => (error ? reject(error) : resolve()))),
    answer: () => readAnswer(inbox),
    hangUp: () => void socket.destroy(),
    closed: new Promise((resolve) => socket.once('close', resolve)),
  }
}

/** One request on a connection of its own. */
export async function exchange(url: string, request: string | Uint8Array): Promise<RawAnswer> {
  const raw = await openRaw(url)
  try {
    await raw.send(request)
    return await raw.answer()
  } finally {
    raw.hangUp()
  }
}

/** The head of a request, with the blank line that ends it. */
export function head(method: string, url: string, headers: Record<string, string | number> = {}): string {
  const { pathname, search, host } = new URL(url)
  const lines = Object.entries({ Host: host, ...headers }).map(([name, value]) => `${name}: ${value}`)
  return [`${method} ${pathname}${search} HTTP/1.1`, ...lines, '', ''].join('\r\n')
}

/** One chunk of a chunked body; the empty one ends it. */
export function chunk(bytes: Uint8Array): Uint8Array {
  return Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')])
}

type Inbox = { bytes: Buffer; ended: boolean; more(): Promise<void> }

const ANSWER_TIMEOUT_MS = 30_000

function openInbox(socket: Socket): Inbox {
  const waiting: (() => void)[] = []
  const wake = () => {
    for (const resume of waiting.splice(0)) resume()
  }
  const inbox: Inbox = {
    bytes: Buffer.alloc(0),
    ended: false,
    async more() {
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      const timer = setTimeout(() => reject(new Error('the service did not answer')), ANSWER_TIMEOUT_MS)
      waiting.push(resolve)
      await promise
      clearTimeout(timer)
    },
  }
  const end = () => {
    inbox.ended = true
    wake()
  }
  // A reset ends the connection like any other close; what had arrived before it counts.
  socket.on('error', end).on('close', end)
  socket.on('data', (bytes) => {
    inbox.bytes = Buffer.concat([inbox.bytes, bytes])
    wake()
  })
  return inbox
}

async function readAnswer(inbox: Inbox): Promise<RawAnswer> {
  const headBytes = await readUntil(inbox, () => {
    const end = inbox.bytes.indexOf('\r\n\r\n')
    return end === -1 ? undefined : end + 4
  })
  const [statusLine = '', ...lines] = headBytes.toString('latin1').trimEnd().split('\r\n')
  const headers = new Headers(
    lines.map((line) => {
      const colon = line.indexOf(':')
      return [line.slice(0, colon), line.slice(colon + 1).trim()] satisfies [string, string]
    }),
  )
  const length = Number(headers.get('content-length') ?? 0)
  const body = await readUntil(inbox, () => (inbox.bytes.length >= length ? length : undefined))
  const text = body.toString('utf8')
  const isJson = headers.get('content-type')?.startsWith('application/json')
  return {
    status: Number(statusLine.split(' ')[1]),
    headers,
    text,
    body: isJson ? JSON.parse(text) : undefined,
  }
}

async function readUntil(inbox: Inbox, found: () => number | undefined): Promise<Buffer> {
  for (;;) {
    const end = found()
    if (end !== undefined) {
      const taken = inbox.bytes.subarray(0, end)
      inbox.bytes = inbox.bytes.subarray(end)
      return taken
    }
    if (inbox.ended)
      throw new Error(`the connection closed after ${JSON.stringify(inbox.bytes.toString('latin1'))}`)
    await inbox.more()
  }
}
