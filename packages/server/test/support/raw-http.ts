import { connect } from 'node:net'

// HTTP by hand, for requests that no client library would send.

export type RawAnswer = {
  status: number
  /** In lower case; a header that came twice is joined with a comma. */
  headers: Map<string, string>
  body: string
}

type Options = {
  /** Stop once so many answers are there; without it the service must close the connection. */
  answers?: number
  /** Close our side after sending, as a client does that gives up. */
  hangUp?: boolean
  /** The request was a HEAD: answers have no body, whatever their length says. */
  head?: boolean
}

const CLOSED_WITHIN_MS = 15_000

/** Sends bytes as they are and reads every answer to them. */
export async function exchange(
  url: string,
  bytes: Uint8Array | string,
  { answers = Number.POSITIVE_INFINITY, hangUp = false, head = false }: Options = {},
): Promise<RawAnswer[]> {
  const { hostname, port } = new URL(url)
  const { promise, resolve, reject } = Promise.withResolvers<RawAnswer[]>()
  const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true })
  let received = Buffer.alloc(0)
  const timer = setTimeout(
    () => reject(new Error(`the service left the connection open after: ${received.toString('latin1')}`)),
    CLOSED_WITHIN_MS,
  )
  const finish = () => resolve(parseAnswers(received, head))
  socket.on('data', (chunk) => {
    received = Buffer.concat([received, chunk])
    if (Number.isFinite(answers) && parseAnswers(received, head).length >= answers) finish()
  })
  // A reset is a way to close as well: what was received before it counts.
  socket.on('error', finish).on('end', finish)
  socket.write(bytes)
  if (hangUp) socket.end()
  try {
    return await promise
  } finally {
    clearTimeout(timer)
    socket.destroy()
  }
}

/** The whole answers at the beginning of the bytes; `100 Continue` is not one. */
function parseAnswers(bytes: Buffer, head: boolean): RawAnswer[] {
  const found: RawAnswer[] = []
  for (let at = 0; at < bytes.length; ) {
    const headEnd = bytes.indexOf('\r\n\r\n', at)
    if (headEnd === -1) break
    const [statusLine = '', ...lines] = bytes.toString('latin1', at, headEnd).split('\r\n')
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(statusLine)?.[1])
    if (!status) throw new Error(`not an answer: ${bytes.toString('latin1', at)}`)
    const headers = parseHeaders(lines)
    const start = headEnd + 4
    const end = head || status === 204 || status < 200 ? start : bodyEnd(bytes, start, headers)
    if (end === undefined || end > bytes.length) break
    if (status >= 200) found.push({ status, headers, body: bytes.toString('utf8', start, end) })
    at = end
  }
  return found
}

function parseHeaders(lines: string[]): Map<string, string> {
  const headers = new Map<string, string>()
  for (const line of lines) {
    const colon = line.indexOf(':')
    const name = line.slice(0, colon).toLowerCase()
    const value = line.slice(colon + 1).trim()
    const former = headers.get(name)
    headers.set(name, former === undefined ? value : `${former}, ${value}`)
  }
  return headers
}

function bodyEnd(bytes: Buffer, start: number, headers: Map<string, string>): number | undefined {
  const length = headers.get('content-length')
  if (length !== undefined) return start + Number(length)
  const last = bytes.indexOf('0\r\n\r\n', start)
  return last === -1 ? undefined : last + 5
}

/** A request with its bytes exactly as given; only a missing length is added. */
export function request(
  method: string,
  target: string,
  headers: [name: string, value: string][] = [],
  body: Uint8Array = new Uint8Array(),
): Buffer {
  const named = new Set(headers.map(([name]) => name.toLowerCase()))
  const all: [string, string][] = [...headers]
  if (!named.has('host')) all.push(['Host', 'tapedeck.test'])
  if (!named.has('connection')) all.push(['Connection', 'close'])
  if (!named.has('content-length') && !named.has('transfer-encoding') && body.length > 0) {
    all.push(['Content-Length', String(body.length)])
  }
  const lines = all.map(([name, value]) => `${name}: ${value}\r\n`).join('')
  return Buffer.concat([Buffer.from(`${method} ${target} HTTP/1.1\r\n${lines}\r\n`, 'latin1'), body])
}
