import { once } from 'node:events'
import { connect } from 'node:net'

// A keep-alive HTTP/1.1 client that costs as little CPU as can be: the load must not be what is measured.

export type Answer = { status: number; head: string; body: Buffer }

export type Connection = {
  /** Sends one request and waits for its whole answer. Anything but a success is an error. */
  send(head: string | Buffer, body?: Buffer): Promise<Answer>
  close(): void
}

export async function openConnection(url: string): Promise<Connection> {
  const { hostname, port } = new URL(url)
  const socket = connect({ host: hostname, port: Number(port), noDelay: true })
  await once(socket, 'connect')
  let waiting: { resolve(answer: Answer): void; reject(error: Error): void } | undefined
  let head = ''
  let answer: Omit<Answer, 'body'> | undefined
  let pieces: Buffer[] = []
  let left = 0

  function onData(chunk: Buffer): void {
    let body = chunk
    if (!answer) {
      // Header bytes only: a body may hold anything.
      const end = chunk.indexOf('\r\n\r\n')
      head += chunk.toString('latin1', 0, end === -1 ? chunk.length : end)
      if (end === -1) return
      body = chunk.subarray(end + 4)
      if (/^transfer-encoding:/im.test(head)) {
        return void socket.destroy(new Error(`this client reads no chunked answers: ${head}`))
      }
      left = Number(/^content-length: *(\d+)/im.exec(head)?.[1] ?? 0)
      answer = { status: Number(head.slice(9, 12)), head }
    }
    left -= body.length
    pieces.push(body)
    if (left > 0) return
    const { status } = answer
    const whole = pieces.length === 1 ? body : Buffer.concat(pieces)
    if (status >= 200 && status < 300) waiting?.resolve({ ...answer, body: whole })
    else waiting?.reject(new Error(`answered ${head}\n${whole.toString().slice(0, 500)}`))
    waiting = undefined
    answer = undefined
    pieces = []
    head = ''
  }

  const lost = (error?: Error) => waiting?.reject(error ?? new Error('the server closed the connection'))
  socket
    .on('data', onData)
    .on('error', lost)
    .on('close', () => lost())
  return {
    send(requestHead, body) {
      return new Promise((resolve, reject) => {
        waiting = { resolve, reject }
        if (body) socket.cork()
        socket.write(requestHead)
        if (!body) return
        socket.write(body)
        socket.uncork()
      })
    },
    close: () => socket.destroy(),
  }
}

/** The head of a request as it goes over the wire. */
export function requestHead(method: string, url: string, headers: Record<string, string | number>): string {
  const { host, pathname, search } = new URL(url)
  const lines = Object.entries({ Host: host, ...headers }).map(([name, value]) => `${name}: ${value}\r\n`)
  return `${method} ${pathname}${search} HTTP/1.1\r\n${lines.join('')}\r\n`
}
