import type { Calibration, DeviceList, PutCalibration, SiteList } from '@tapedeck/contract'

// A device and what is known of it, as the reference shows it. A test holds each against its schema.

const recorded = {
  session_count: 42,
  first_created_at: '2026-01-08T07:12:00.000Z',
  last_created_at: '2026-03-14T09:26:53.589Z',
}

export const putCalibration: PutCalibration = {
  channels: [
    {
      source: '/camera/front/image_raw',
      name: 'camera/front',
      frame: 'front_optical',
      rate_hz: 30,
      intrinsics: {
        width: 1280,
        height: 720,
        k: [912, 0, 640, 0, 911, 360, 0, 0, 1],
        d: [0, 0, 0, 0, 0],
        model: 'plumb_bob',
      },
      extrinsic: { parent: 'base_link', translation: [0.31, 0, 0.42], rotation: [-0.5, 0.5, -0.5, 0.5] },
    },
    { source: '/imu/data', rate_hz: 200, clock_offset_ns: -2300000 },
  ],
}

export const calibration: Calibration = {
  object: 'calibration',
  device: 'amr-07',
  version: 3,
  ...putCalibration,
  created_at: '2026-03-01T08:00:00.000Z',
}

export const deviceList: DeviceList = {
  object: 'list',
  data: [
    {
      object: 'device',
      name: 'amr-07',
      ...recorded,
      calibration_version: 3,
      channels: ['camera/front', 'imu'],
    },
  ],
  has_more: false,
  next_cursor: null,
}

export const siteList: SiteList = {
  object: 'list',
  data: [{ object: 'site', name: 'warehouse-berlin', ...recorded }],
  has_more: false,
  next_cursor: null,
}
