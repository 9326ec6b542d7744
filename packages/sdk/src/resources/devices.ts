import { List, type Page } from '../list.ts'
import type { Calibration, Device, ListByName, PutCalibration, Site } from '../objects.ts'
import type { RequestOptions, Transport } from '../transport.ts'
import { pathOf } from './path.ts'

/** What recorded sessions, by name. */
export class Devices {
  readonly #transport: Transport

  constructor(transport: Transport) {
    this.#transport = transport
  }

  list(filters: ListByName = {}, options?: RequestOptions): List<Device> {
    return new List((cursor = filters.cursor) =>
      this.#transport.send<Page<Device>>(
        { method: 'GET', path: '/v1/devices', query: { ...filters, cursor } },
        options,
      ),
    )
  }

  /** The last version, which is applied to new sessions. */
  retrieveCalibration(name: string, options?: RequestOptions): Promise<Calibration> {
    return this.#transport.send(
      { method: 'GET', path: `${pathOf('/v1/devices', name)}/calibration` },
      options,
    )
  }

  /** Stores a new version. */
  putCalibration(name: string, input: PutCalibration, options?: RequestOptions): Promise<Calibration> {
    const path = `${pathOf('/v1/devices', name)}/calibration`
    return this.#transport.send({ method: 'PUT', path, body: input }, options)
  }
}

/** Where sessions were recorded, by name. */
export class Sites {
  readonly #transport: Transport

  constructor(transport: Transport) {
    this.#transport = transport
  }

  list(filters: ListByName = {}, options?: RequestOptions): List<Site> {
    return new List((cursor = filters.cursor) =>
      this.#transport.send<Page<Site>>(
        { method: 'GET', path: '/v1/sites', query: { ...filters, cursor } },
        options,
      ),
    )
  }
}
