// node idle-connections.ts COUNT URL …: holds keep-alive connections that ask for something now and then, spread over the
// addresses; tells at GET / how many are open.
import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect, type Socket } from 'node:net'
import { announce } from './announce.ts'

export type Held = { open: number; lost: number; refused: string | null }

const [count = '', ...urls] = process.argv.slice(2)
/** Below the 75 s after which the service closes one that is silent. */
const ASK_EVERY_MS = 50_000
const AT_ONCE = 100
const held: Held = { open: 0, lost: 0, refused: null }

for (let opened = 0; opened < Number(count) && held.refused === null; opened += AT_ONCE) {
  const batch = Array.from({ length: Math.min(AT_ONCE, Number(count) - opened) }, (_, index) =>
    hold(new URL(urls[(opened + index) % urls.length] ?? '')),
  )
  await Promise.all(batch)
}
announce(createServer((_, response) => void response.end(JSON.stringify(held))))

async function hold({ hostname, port, host }: URL): Promise<void> {
  const socket = connect(Number(port), hostname)
  try {
    await once(socket, 'connect')
  } catch (error) {
    held.refused = error instanceof Error ? error.message : String(error)
    return
  }
  held.open++
  socket
    .on('error', () => {})
    .on('close', () => {
      held.open--
      held.lost++
    })
    .resume()
  ask(socket, host)
  setTimeout(() => {
    ask(socket, host)
    setInterval(() => ask(socket, host), ASK_EVERY_MS)
  }, Math.random() * ASK_EVERY_MS)
}

function ask(socket: Socket, host: string): void {
  socket.write(`GET /healthz HTTP/1.1\r\nHost: ${host}\r\n\r\n`)
}
