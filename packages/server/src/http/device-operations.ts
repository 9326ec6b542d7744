import { Calibration, DeviceList, ListByName, PutCalibration, SiteList } from '@tapedeck/contract'
import { putCalibration, retrieveCalibration } from '../devices/calibration.ts'
import { listDevices, listSites } from '../devices/list.ts'
import * as example from './device-examples.ts'
import { Nothing, type Operation, operation } from './operation.ts'

export type DeviceDeps = Parameters<typeof listDevices>[0]

export function deviceOperations(deps: DeviceDeps): Operation[] {
  return [
    operation({
      method: 'GET',
      path: '/v1/sites',
      id: 'listSites',
      tag: 'Devices',
      permission: 'read',
      summary: 'List sites',
      description: 'Where sessions were recorded, by name.',
      query: ListByName,
      body: Nothing,
      status: 200,
      response: SiteList,
      errors: [],
      example: { response: example.siteList },
      run: ({ caller, query }) => listSites(deps, caller, query),
    }),
    operation({
      method: 'GET',
      path: '/v1/devices',
      id: 'listDevices',
      tag: 'Devices',
      permission: 'read',
      summary: 'List devices',
      description: 'What recorded sessions, by name, with what it sent last.',
      query: ListByName,
      body: Nothing,
      status: 200,
      response: DeviceList,
      errors: [],
      example: { response: example.deviceList },
      run: ({ caller, query }) => listDevices(deps, caller, query),
    }),
    operation({
      method: 'GET',
      path: '/v1/devices/{id}/calibration',
      id: 'retrieveCalibration',
      tag: 'Devices',
      permission: 'read',
      summary: 'Retrieve the calibration of a device',
      description: 'The last version, which is applied to new sessions. `{id}` is the name of the device.',
      query: Nothing,
      body: Nothing,
      status: 200,
      response: Calibration,
      errors: ['device_not_found'],
      example: { response: example.calibration },
      run: ({ caller, id }) => retrieveCalibration(deps, caller, id),
    }),
    operation({
      method: 'PUT',
      path: '/v1/devices/{id}/calibration',
      id: 'putCalibration',
      change: 'calibration.stored',
      tag: 'Devices',
      permission: 'write',
      summary: 'Store a calibration of a device',
      description:
        'Stores a new version for the device of that name. Sessions processed from now on use it and say which version they used.',
      query: Nothing,
      body: PutCalibration,
      status: 200,
      response: Calibration,
      errors: ['body_invalid', 'body_too_large', 'content_type_invalid'],
      example: { body: example.putCalibration, response: example.calibration },
      run: ({ caller, id, body, commit }) => putCalibration(caller, id, body, commit),
    }),
  ]
}
