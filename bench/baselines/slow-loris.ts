// node slow-loris.ts EACH URL KEY PART_URL …: clients that send a byte a second: heads, bodies of requests, and parts. Tells
// at GET / how many of each are still there, and how long the others were let stay.
import { createServer } from 'node:http'
import { connect } from 'node:net'
import { requestHead } from '../support/connection.ts'
import { announce } from './announce.ts'

export type Lingering = Record<
  'heads' | 'bodies' | 'parts',
  { open: number; shed: number; longestMs: number }
>

const [each = '', url = '', key = '', ...partUrls] = process.argv.slice(2)
const BYTE_EVERY_MS = 1_000
const none = () => ({ open: 0, shed: 0, longestMs: 0 })
const lingering: Lingering = { heads: none(), bodies: none(), parts: none() }

const json = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json', 'Content-Length': 100_000 }
for (let count = 0; count < Number(each); count++) {
  linger('heads', `GET /v1/sessions HTTP/1.1\r\nHost: localhost\r\nX-Slow: `)
  linger('bodies', requestHead('POST', `${url}/v1/sessions`, json))
}
for (const partUrl of partUrls) {
  const checksum = Buffer.alloc(32).toString('base64')
  linger(
    'parts',
    requestHead('PUT', partUrl, { 'Content-Length': 100_000, 'x-amz-checksum-sha256': checksum }),
  )
}
announce(createServer((_, response) => void response.end(JSON.stringify(lingering))))

function linger(kind: keyof Lingering, beginning: string): void {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  const startMs = performance.now()
  const of = lingering[kind]
  of.open++
  const sending = setInterval(() => socket.write('a'), BYTE_EVERY_MS)
  socket
    .on('error', () => {})
    .on('close', () => {
      clearInterval(sending)
      of.open--
      of.shed++
      of.longestMs = Math.max(of.longestMs, performance.now() - startMs)
    })
    .resume()
    .write(beginning)
}
