import type { IncomingMessage, ServerResponse } from 'node:http'

const MAX_LINGER_MS = 10_000

/**
 * A refused client may still be sending its body. Closing at once would reset the connection before it has read
 * our answer, so the rest is read and dropped for a while; then the connection ends.
 */
export function lingerAfter(request: IncomingMessage, response: ServerResponse): void {
  response.once('finish', () => {
    if (request.complete || request.destroyed) return
    const timer = setTimeout(() => request.destroy(), MAX_LINGER_MS)
    request.once('close', () => clearTimeout(timer)).once('end', () => clearTimeout(timer))
    request.resume()
  })
}
