import { STREAM_HEARTBEAT_S } from '@tapedeck/contract/limits'
import { ConnectionError } from './errors.ts'
import { parseExact } from './exact-json.ts'
import type { Event } from './objects.ts'
import { mayPass, pause, pauseMs } from './retry.ts'
import type { Transport } from './transport.ts'

export type StreamOptions = {
  /** Only events of these types. */
  types?: Event['type'][]
  /** Begins after this event instead of now; nothing in between is left out. */
  after?: string
  signal?: AbortSignal
  /** Called each time that the stream stands: events from now on are heard. */
  onOpen?(): void
}

export type StreamedEvent = {
  event: Event
  /** The very text that a webhook has for its body. */
  body: string
}

/** Longer than the service is ever silent. */
const SILENCE_MS = 3 * STREAM_HEARTBEAT_S * 1000
/** After a reconnection the service tells the last minutes again; what was heard is known by its id. */
const MAX_REMEMBERED = 10_000

/** What happens, as it happens. A connection that is lost is made again, behind the last event that was heard. */
export async function* streamEvents(
  transport: Transport,
  { types, after, signal, onOpen }: StreamOptions,
): AsyncGenerator<StreamedEvent, void, undefined> {
  let last = after
  const heardIds = new Set<string>()
  let failures = 0
  for (;;) {
    try {
      const query = { ...(types && { type: types }), ...(last !== undefined && { after: last }) }
      const request = { method: 'GET' as const, path: '/v1/events/stream', query }
      const response = await transport.open(request, { maxRetries: 0, ...(signal && { signal }) })
      onOpen?.()
      for await (const message of messagesOf(response, signal)) {
        failures = 0
        if (message.data === '' || heardIds.has(message.id)) continue
        last = message.id
        heardIds.add(message.id)
        const [oldest] = heardIds
        if (heardIds.size > MAX_REMEMBERED && oldest !== undefined) heardIds.delete(oldest)
        yield { event: parseExact(message.data) as Event, body: message.data }
      }
      // The service has ended it, as it does when it is stopped.
      await pause(pauseMs(failures++, undefined), signal)
    } catch (error) {
      signal?.throwIfAborted()
      if (!mayPass(error)) throw error
      await pause(pauseMs(failures++, error), signal)
    }
  }
}

type Message = { id: string; data: string }

async function* messagesOf(response: Response, signal: AbortSignal | undefined): AsyncGenerator<Message> {
  const reader = response.body?.getReader()
  if (!reader) return
  const onAbort = () => void reader.cancel().catch(() => {})
  signal?.addEventListener('abort', onAbort, { once: true })
  const decoder = new TextDecoder()
  let text = ''
  try {
    for (;;) {
      const { value, done } = await heard(reader.read())
      signal?.throwIfAborted()
      if (done) return
      text += decoder.decode(value, { stream: true })
      for (let end = text.indexOf('\n\n'); end !== -1; end = text.indexOf('\n\n')) {
        yield readMessage(text.slice(0, end))
        text = text.slice(end + 2)
      }
    }
  } finally {
    signal?.removeEventListener('abort', onAbort)
    await reader.cancel().catch(() => {})
  }
}

/** A connection that is silent for longer than the service ever is, is dead. */
async function heard<T>(reading: Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const silence = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new ConnectionError('timeout', `the event stream was silent for ${SILENCE_MS / 1000} s`)),
      SILENCE_MS,
    )
  })
  try {
    return await Promise.race([reading, silence])
  } catch (error) {
    if (error instanceof ConnectionError) throw error
    throw new ConnectionError('unreachable', 'the event stream was cut off', { cause: error })
  } finally {
    clearTimeout(timer)
  }
}

/** `id: …`, `data: …`; lines that begin with a colon only keep the connection alive. */
function readMessage(block: string): Message {
  const lines = block.split('\n').map((line) => /^(\w*): ?(.*)$/.exec(line) ?? ['', '', ''])
  const valuesOf = (field: string) =>
    lines.filter(([, name]) => name === field).map(([, , value = '']) => value)
  return { id: valuesOf('id').at(-1) ?? '', data: valuesOf('data').join('\n') }
}
