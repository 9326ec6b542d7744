import type { FastifyReply, FastifyRequest } from 'fastify'

const MAX_LINGER_MS = 10_000

/**
 * A refused client may still be sending its body. Closing at once would reset the connection before it has read
 * our answer, so the rest is read and dropped for a while; then the connection ends, if it was to.
 */
export function lingerAfter({ raw: request }: FastifyRequest, reply: FastifyReply): void {
  if (request.complete) return
  const { raw: response } = reply
  const wantsClose = !response.shouldKeepAlive || reply.getHeader('connection') === 'close'
  // Node ends a connection that is not kept alive as soon as it has written the answer.
  reply.removeHeader('connection')
  response.shouldKeepAlive = true
  response.once('finish', () => {
    if (request.destroyed) return
    const end = () => {
      clearTimeout(timer)
      if (wantsClose) request.socket.end()
    }
    const timer = setTimeout(() => request.destroy(), MAX_LINGER_MS)
    request.once('close', () => clearTimeout(timer))
    if (request.complete) return end()
    request.once('end', end).resume()
  })
}
