import type { Server } from 'node:http'

/** Listens on a free port of loopback, says which, and ends with the bench. */
export function announce(server: Server): void {
  server.listen(0, '127.0.0.1', () => {
    const address = server.address()
    if (typeof address === 'object' && address)
      process.stdout.write(`listening on http://127.0.0.1:${address.port}\n`)
  })
  process.on('disconnect', () => process.exit())
}

export const ANNOUNCED = /listening on (\S+)\n/
