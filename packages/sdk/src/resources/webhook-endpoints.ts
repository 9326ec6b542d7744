import { List, type Page } from '../list.ts'
import type {
  CreateWebhookEndpoint,
  DeletedWebhookEndpoint,
  ListWebhookDeliveries,
  ListWebhookEndpoints,
  RedeliverFailed,
  Redelivery,
  UpdateWebhookEndpoint,
  WebhookDelivery,
  WebhookEndpoint,
  WebhookEndpointWithSecret,
} from '../objects.ts'
import type { RequestOptions, Transport } from '../transport.ts'
import { pathOf } from './path.ts'

const ALL = '/v1/webhook_endpoints'

/** Endpoints of yours that are told what happened, and what was sent to them. */
export class WebhookEndpoints {
  readonly #transport: Transport

  constructor(transport: Transport) {
    this.#transport = transport
  }

  /** The `secret` in the answer is shown only now. */
  create(input: CreateWebhookEndpoint, options?: RequestOptions): Promise<WebhookEndpointWithSecret> {
    return this.#transport.send({ method: 'POST', path: ALL, body: input }, options)
  }

  list(filters: ListWebhookEndpoints = {}, options?: RequestOptions): List<WebhookEndpoint> {
    return new List((cursor = filters.cursor) =>
      this.#transport.send<Page<WebhookEndpoint>>(
        { method: 'GET', path: ALL, query: { ...filters, cursor } },
        options,
      ),
    )
  }

  retrieve(id: string, options?: RequestOptions): Promise<WebhookEndpoint> {
    return this.#transport.send({ method: 'GET', path: pathOf(ALL, id) }, options)
  }

  update(id: string, input: UpdateWebhookEndpoint, options?: RequestOptions): Promise<WebhookEndpoint> {
    return this.#transport.send({ method: 'PATCH', path: pathOf(ALL, id), body: input }, options)
  }

  delete(id: string, options?: RequestOptions): Promise<DeletedWebhookEndpoint> {
    const done: DeletedWebhookEndpoint = { id, object: 'webhook_endpoint', deleted: true }
    return this.#transport.delete(pathOf(ALL, id), done, options)
  }

  /** A new secret; the old one signs too for 24 hours. */
  rotateSecret(id: string, options?: RequestOptions): Promise<WebhookEndpointWithSecret> {
    return this.#transport.send({ method: 'POST', path: `${pathOf(ALL, id)}/rotate_secret` }, options)
  }

  /** Sends a `ping`. */
  test(id: string, options?: RequestOptions): Promise<WebhookDelivery> {
    return this.#transport.send({ method: 'POST', path: `${pathOf(ALL, id)}/test` }, options)
  }

  /** What was sent to the endpoint, newest first, with every attempt. */
  listDeliveries(
    id: string,
    filters: ListWebhookDeliveries = {},
    options?: RequestOptions,
  ): List<WebhookDelivery> {
    return new List((cursor = filters.cursor) =>
      this.#transport.send<Page<WebhookDelivery>>(
        { method: 'GET', path: `${pathOf(ALL, id)}/deliveries`, query: { ...filters, cursor } },
        options,
      ),
    )
  }

  /** Tries one delivery again from the beginning. */
  redeliver(id: string, delivery: string, options?: RequestOptions): Promise<WebhookDelivery> {
    const path = `${pathOf(`${pathOf(ALL, id)}/deliveries`, delivery)}/redeliver`
    return this.#transport.send({ method: 'POST', path }, options)
  }

  /** Tries again every delivery that failed since a time. */
  redeliverFailed(id: string, input: RedeliverFailed, options?: RequestOptions): Promise<Redelivery> {
    return this.#transport.send(
      { method: 'POST', path: `${pathOf(ALL, id)}/redeliver`, body: input },
      options,
    )
  }
}
