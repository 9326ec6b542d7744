import { type StreamedEvent, type StreamOptions, streamEvents } from '../event-stream.ts'
import { List, type Page } from '../list.ts'
import type { Event, ListEvents } from '../objects.ts'
import type { RequestOptions, Transport } from '../transport.ts'
import { pathOf } from './path.ts'

/** What happened, whoever was told. */
export class Events {
  readonly #transport: Transport

  constructor(transport: Transport) {
    this.#transport = transport
  }

  /** Newest first. */
  list(filters: ListEvents = {}, options?: RequestOptions): List<Event> {
    return new List((cursor = filters.cursor) =>
      this.#transport.send<Page<Event>>(
        { method: 'GET', path: '/v1/events', query: { ...filters, cursor } },
        options,
      ),
    )
  }

  retrieve(id: string, options?: RequestOptions): Promise<Event> {
    return this.#transport.send({ method: 'GET', path: pathOf('/v1/events', id) }, options)
  }

  /** What happens from now on, as it happens; reconnects by itself and leaves nothing out. */
  stream(options: StreamOptions = {}): AsyncGenerator<StreamedEvent, void, undefined> {
    return streamEvents(this.#transport, options)
  }
}
