import { List, type Page } from '../list.ts'
import type { SearchSegments, Segment } from '../objects.ts'
import type { RequestOptions, Transport } from '../transport.ts'
import { pathOf } from './path.ts'

/** The pieces that recordings are cut into. */
export class Segments {
  readonly #transport: Transport

  constructor(transport: Transport) {
    this.#transport = transport
  }

  /** All filters must hold; segments of the newest session first. */
  search(filters: SearchSegments = {}, options?: RequestOptions): List<Segment> {
    return new List((cursor = filters.cursor) =>
      this.#transport.send<Page<Segment>>(
        { method: 'GET', path: '/v1/segments', query: { ...filters, cursor } },
        options,
      ),
    )
  }

  retrieve(id: string, options?: RequestOptions): Promise<Segment> {
    return this.#transport.send({ method: 'GET', path: pathOf('/v1/segments', id) }, options)
  }
}
