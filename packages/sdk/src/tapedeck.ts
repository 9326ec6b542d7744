import { Devices, Sites } from './resources/devices.ts'
import { Events } from './resources/events.ts'
import { Segments } from './resources/segments.ts'
import { Sessions } from './resources/sessions.ts'
import { WebhookEndpoints } from './resources/webhook-endpoints.ts'
import { type TapedeckOptions, Transport } from './transport.ts'

/** A client of one service with one key. */
export class Tapedeck {
  readonly sessions: Sessions
  readonly segments: Segments
  readonly devices: Devices
  readonly sites: Sites
  readonly webhookEndpoints: WebhookEndpoints
  readonly events: Events

  constructor(options: TapedeckOptions) {
    const transport = new Transport(options)
    this.sessions = new Sessions(transport)
    this.segments = new Segments(transport)
    this.devices = new Devices(transport)
    this.sites = new Sites(transport)
    this.webhookEndpoints = new WebhookEndpoints(transport)
    this.events = new Events(transport)
  }
}
