import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { MAX_EVENT_STREAMS, STREAM_HEARTBEAT_S, StreamEvents } from '@tapedeck/contract'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Callers } from '../access/caller.ts'
import { ApiError, invalid } from '../errors.ts'
import type { EventFeed, FedEvent, Follower } from '../webhooks/event-feed.ts'
import type { ConsoleAccess } from './console-guard.ts'
import { findCaller, guard } from './guard.ts'
import { queryParser } from './parse.ts'
import { parseQuery } from './query.ts'
import type { RateLimit } from './rate-limit.ts'

// GET /v1/events/stream: the events of an organisation as server-sent events, for as long as the client stays.

type Deps = { feed: EventFeed; callers: Callers; consoleAccess: ConsoleAccess; rateLimit: RateLimit }

const HEARTBEAT_MS = STREAM_HEARTBEAT_S * 1000
/** A client that takes nothing for so long is gone. */
const STUCK_MS = 60_000

export function registerEventStream(app: FastifyInstance, deps: Deps): void {
  const readQuery = queryParser(StreamEvents)
  app.get('/v1/events/stream', { onRequest: guard(deps, 'read') }, async (request, reply) => {
    const query = withLastEventId(readQuery(parseQuery(request.raw.url ?? '/')), request)
    const { caller } = request
    if (!caller) throw new Error('the event stream ran without its guard')
    if (deps.feed.count(caller.organisationId) >= MAX_EVENT_STREAMS) {
      throw new ApiError('too_many_streams', `there are ${MAX_EVENT_STREAMS} event streams open already`, {
        retryAfterS: STREAM_HEARTBEAT_S,
      })
    }
    const follower = await deps.feed.follow(caller, query)
    const response = openStream(reply)
    try {
      await tell(deps, request, response, follower)
    } catch (error) {
      // The head is sent, so nothing can be said any more. The client comes again and hears then.
      request.log.debug({ err: error }, 'an event stream ended')
    } finally {
      follower.close()
      response.end()
    }
  })
}

function withLastEventId(query: StreamEvents, request: FastifyRequest): StreamEvents {
  const header = request.headers['last-event-id']
  if (query.after !== undefined || header === undefined || header === '') return query
  if (typeof header === 'string' && /^evt_[0-9a-v]{36}$/.test(header)) return { ...query, after: header }
  throw invalid('Last-Event-ID', 'Last-Event-ID must be the id of an event')
}

function openStream(reply: FastifyReply): ServerResponse {
  const response = reply.hijack().raw
  for (const [name, value] of Object.entries(reply.getHeaders()))
    if (value !== undefined) response.setHeader(name, value)
  response.writeHead(200, {
    'Content-Type': 'text/event-stream; charset=utf-8',
    'Cache-Control': 'no-store',
    // Proxies that collect answers would hold events back.
    'X-Accel-Buffering': 'no',
  })
  response.write(': the stream is open\n\n')
  return response
}

async function tell(
  deps: Deps,
  request: FastifyRequest,
  response: ServerResponse,
  follower: Follower,
): Promise<void> {
  const gone = new AbortController()
  response.once('close', () => gone.abort())
  const ended = AbortSignal.any([gone.signal, deps.feed.closed])
  while (!ended.aborted) {
    const events = await follower.read()
    // Asked after the read: what is told was still allowed when it was known.
    await findCaller(deps, request)
    for (const event of events) await write(response, toMessage(event), ended)
    if (events.length > 0) continue
    if (!(await heard(follower, ended))) await write(response, ': still here\n\n', ended)
  }
}

/** Whether something may be new, or the stream has ended, before a heartbeat is due. */
async function heard(follower: Follower, ended: AbortSignal): Promise<boolean> {
  const { promise: end, resolve } = Promise.withResolvers<boolean>()
  const onEnd = () => resolve(true)
  ended.addEventListener('abort', onEnd, { once: true })
  if (ended.aborted) onEnd()
  const isHeard = await Promise.race([follower.wait(HEARTBEAT_MS), end])
  ended.removeEventListener('abort', onEnd)
  return isHeard
}

/** The body is one line of JSON. */
function toMessage({ id, type, body }: FedEvent): string {
  return `id: ${id}\nevent: ${type}\ndata: ${body}\n\n`
}

async function write(response: ServerResponse, text: string, ended: AbortSignal): Promise<void> {
  if (ended.aborted || response.write(text)) return
  const stuck = AbortSignal.timeout(STUCK_MS)
  await once(response, 'drain', { signal: AbortSignal.any([ended, stuck]) }).catch((error: unknown) => {
    if (stuck.aborted) response.destroy()
    throw error
  })
}
