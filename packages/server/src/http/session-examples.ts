import type {
  ChannelList,
  CompleteSession,
  CreatedSession,
  CreateSession,
  DeletedSession,
  Segment,
  SegmentList,
  Session,
  SessionList,
  Timeline,
} from '@tapedeck/contract'

// One upload from beginning to end, as the reference shows it. A test holds each against its schema.

const id = 'ses_069ov5l8gk7m2s1q4d8f0h3j5n7r9t2v4b6a'
const sha256 = '5f70bf18a086007016e948b04aed3b82103a36bea41755b6cddfaf10ace3c6ef'
const part1 = '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08'
const part2 = '60303ae22b998861bce3b28f33eec1be758a213c86c93c076dbe9f558c11c752'
const expiresAt = '2026-03-15T09:26:53.000Z'

const urlOf = (number: number) =>
  `https://upload.example.com/upload/${id}/${number}?expires=1773566813&signature=kq3v0fZr0x9y2QmD4n1b7s8T6uLwE5cHaJpGiRoVtXY`

export const createSession: CreateSession = {
  site: 'warehouse-berlin',
  device: 'amr-07',
  filename: 'run_0042.mcap',
  bytes: 104857600,
  sha256,
  notes: 'second run after the wheel change',
}

export const createdSession: CreatedSession = {
  id,
  object: 'session',
  status: 'uploading',
  upload: {
    part_size: 67108864,
    expires_at: expiresAt,
    parts: [
      { number: 1, url: urlOf(1) },
      { number: 2, url: urlOf(2) },
    ],
  },
}

export const completeSession: CompleteSession = {
  parts: [
    { number: 1, etag: `"${part1}"` },
    { number: 2, etag: `"${part2}"` },
  ],
}

export const processingSession: Session = {
  id,
  object: 'session',
  site: 'warehouse-berlin',
  device: 'amr-07',
  filename: 'run_0042.mcap',
  bytes: 104857600,
  sha256,
  status: 'processing',
  recorded_at: null,
  duration_s: null,
  channels: [],
  segment_count: 0,
  issues: [],
  notes: 'second run after the wheel change',
  created_at: '2026-03-14T09:26:53.589Z',
  processed_at: null,
}

export const uploadingSession: Session = {
  ...processingSession,
  status: 'uploading',
  upload: {
    part_size: 67108864,
    expires_at: expiresAt,
    parts: [{ number: 2, url: urlOf(2) }],
    received: [{ number: 1, bytes: 67108864, sha256: part1, etag: `"${part1}"`, url: urlOf(1) }],
  },
}

export const sessionList: SessionList = {
  object: 'list',
  data: [processingSession],
  has_more: true,
  next_cursor: 'q3Jk0Zr9x2QmD4n1b7s8TzE3NzM0ODA0MTM1ODkuc2VzXzA2OW92NWw',
}

export const deletedSession: DeletedSession = { id, object: 'session', deleted: true }

export const channelList: ChannelList = {
  object: 'list',
  data: [
    {
      object: 'channel',
      name: 'imu',
      kind: 'imu',
      source: '/imu/data',
      schema: 'sensor_msgs/msg/Imu',
      encoding: 'cdr',
      message_count: 30000,
      bytes: 9840000,
      first_t_ns: 1773480413589000,
      last_t_ns: 1773480563584000,
      rate_hz: 200,
      jitter_ns: 41000,
      largest_gap_ns: 7200000,
      clock: {
        kind: 'offset',
        offset_ns: -2310000,
        envelope_offset_ns: -2290000,
        drift_ppm: null,
        pairs: 4096,
      },
      issues: [],
    },
  ],
  has_more: false,
  next_cursor: null,
}

export const timeline: Timeline = {
  object: 'timeline',
  session: id,
  t_start_ns: 1773480413589000,
  bin_ns: 75000000,
  bin_count: 4,
  channels: [{ name: 'imu', counts: [15, 15, 14, 15] }],
}

export const segment: Segment = {
  id: 'seg_069ov5l8gk7m2s1q4d8f0h3j5n7r9t2v4b6a',
  object: 'segment',
  session: id,
  index: 0,
  t_start_ns: 1773480413589000,
  t_end_ns: 1773480443589000,
  started_at: '2026-03-14T09:26:53.589Z',
  duration_s: 30,
  cut: 'start',
  label: '',
  site: 'warehouse-berlin',
  device: 'amr-07',
  channels: [{ name: 'imu', message_count: 6000, rate_hz: 200 }],
  message_count: 6000,
  issues: ['message_gap'],
  activity: 0.98,
  created_at: '2026-03-14T09:26:53.589Z',
}

export const segmentList: SegmentList = {
  object: 'list',
  data: [segment],
  has_more: false,
  next_cursor: null,
}
