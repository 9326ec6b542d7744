// Written by scripts/sdk-objects.ts from packages/contract; a test says when it is not up to date.

export type Issue = {
  /** A stable word. */
  code: string
  /** How bad it is. */
  severity: 'info' | 'warning' | 'error'
  /** The channel it concerns; empty for the recording as a whole. */
  channel: string
  /** What was found, for people. */
  detail: string
  /** First occurrence, in nanoseconds. */
  t_ns?: bigint
  /** How many messages or places it concerns. */
  count?: number
  /** What was measured; times in nanoseconds. */
  value?: number
  /** What it was compared with. */
  threshold?: number
}

export type CreatedSession = {
  id: string
  object: 'session'
  status: 'uploading'
  upload: {
    /** Size of every part but the last, in bytes. */
    part_size: number
    /** When the URLs expire; retrieve the session for fresh ones. ISO 8601, UTC. */
    expires_at: string
    /** The parts not yet received. */
    parts: {
      /** From 1. */
      number: number
      /** Signed: PUT the bytes of the part here. */
      url: string
    }[]
  }
}

export type Session = {
  /** `ses_…` */
  id: string
  object: 'session'
  /** Where the recording was made; created on first use. 1 to 255 characters, no control characters. */
  site: string
  /** The device that recorded. 1 to 255 characters, no control characters. */
  device: string | null
  /** Original file name; used to detect the format. 1 to 255 characters, no control characters. */
  filename: string
  /** Size of the file. */
  bytes: number
  /** SHA-256 of the whole file, lower case; verified on completion. */
  sha256: string
  /** Where the session stands. */
  status: 'uploading' | 'uploaded' | 'processing' | 'processed' | 'failed'
  /** When the recording began. ISO 8601, UTC. */
  recorded_at: string | null
  /** Length of the recording in seconds. */
  duration_s: number | null
  /** Channels found, under the service's own names. */
  channels: string[]
  /** Segments cut from the recording. */
  segment_count: number
  /** Problems found during processing, worst first. */
  issues: Issue[]
  /** Free text kept with the session. Up to 10000 characters. */
  notes: string | null
  /** When the session was created. ISO 8601, UTC. */
  created_at: string
  /** When processing finished. ISO 8601, UTC. */
  processed_at: string | null
  upload?: {
    /** Size of every part but the last, in bytes. */
    part_size: number
    /** When the URLs expire; retrieve the session for fresh ones. ISO 8601, UTC. */
    expires_at: string
    /** The parts not yet received. */
    parts: {
      /** From 1. */
      number: number
      /** Signed: PUT the bytes of the part here. */
      url: string
    }[]
    /** The parts received so far. */
    received: {
      number: number
      bytes: number
      /** Hex digest of the part as it was received. */
      sha256: string
      /** What `complete` wants for this part. */
      etag: string
      /** Signed: PUT here to replace the part. */
      url: string
    }[]
  }
  /** While the session is being processed. */
  processing?: {
    /** What is being done. */
    stage: 'waiting' | 'reading' | 'writing'
    /** How much of it, from 0 to 1. */
    fraction: number
  }
}

export type DeletedSession = {
  id: string
  object: 'session'
  deleted: true
}

export type Channel = {
  object: 'channel'
  /** The service's own name. */
  name: string
  kind:
    | 'camera'
    | 'depth'
    | 'lidar'
    | 'radar'
    | 'imu'
    | 'gps'
    | 'joints'
    | 'pose'
    | 'odometry'
    | 'transforms'
    | 'wrench'
    | 'command'
    | 'audio'
    | 'diagnostics'
    | 'log'
    | 'map'
    | 'event'
    | 'table'
    | 'other'
  /** Topic, message or track in the recording. */
  source: string
  schema: string
  encoding: string
  message_count: number
  bytes: number
  first_t_ns: bigint | null
  last_t_ns: bigint | null
  /** From the median period. */
  rate_hz: number | null
  /** Median distance of the periods from their median. */
  jitter_ns: number | null
  largest_gap_ns: number | null
  /** The sensor's clock beside the recorder's. */
  clock: {
    /** `synchronised`, `offset`, `gps`, `simulated`, `frozen` or `unset`. */
    kind: string
    /** Stamp minus time of recording, by the median. */
    offset_ns: number
    /** The same by the lower envelope: up to the least transport delay. */
    envelope_offset_ns: number
    /** Only where it is significant. Positive: the sensor runs fast. */
    drift_ppm: number | null
    /** Messages that it was estimated from. */
    pairs: number
  } | null
  issues: Issue[]
}

export type Timeline = {
  object: 'timeline'
  session: string
  /** Where the first bin begins. */
  t_start_ns: bigint
  /** Width of a bin. */
  bin_ns: number
  channels: {
    name: string
    /** Messages in each bin; empty with `packed`. */
    counts: number[]
  }[]
  /** Bins of each channel. */
  bin_count: number
  /** With `counts=packed`: all counts, channel after channel, as 32-bit little-endian integers, raw deflate, base64. */
  packed?: string
}

export type Segment = {
  /** `seg_…` */
  id: string
  object: 'segment'
  /** The session it was cut from. */
  session: string
  /** From 0, in the order of time. */
  index: number
  t_start_ns: bigint
  t_end_ns: bigint
  /** When it begins, where the recording has a date. ISO 8601, UTC. */
  started_at: string | null
  duration_s: number
  /** Why it begins where it begins. */
  cut: 'start' | 'marker' | 'silence' | 'window'
  /** What the recording itself calls it, if it does. */
  label: string
  site: string
  device: string | null
  /** What was recorded in it. */
  channels: {
    name: string
    message_count: number
    rate_hz: number
  }[]
  message_count: number
  /** Codes of issues that have their place in it. */
  issues: string[]
  /** Share of it in which anything was recorded. */
  activity: number
  /** When the session was created. ISO 8601, UTC. */
  created_at: string
}

export type Device = {
  object: 'device'
  name: string
  session_count: number
  /** When its first session was created. ISO 8601, UTC. */
  first_created_at: string
  /** When its last session was created. ISO 8601, UTC. */
  last_created_at: string
  /** The version that is applied, if there is one. */
  calibration_version: number | null
  /** What it sent in its last processed session. */
  channels: string[]
}

export type Site = {
  object: 'site'
  name: string
  session_count: number
  /** When its first session was created. ISO 8601, UTC. */
  first_created_at: string
  /** When its last session was created. ISO 8601, UTC. */
  last_created_at: string
}

export type Calibration = {
  object: 'calibration'
  device: string
  /** From 1; every version is kept, the last one is applied. */
  version: number
  channels: {
    /** The topic in the recording. */
    source: string
    /** Our name for the channel, instead of the one made from the topic. */
    name?: string
    /** Frame of the sensor. */
    frame?: string
    /** The rate to expect. */
    rate_hz?: number
    /** Known offset of the stamps. */
    clock_offset_ns?: number
    intrinsics?: {
      width: number
      height: number
      k: number[]
      d: number[]
      model: string
    }
    extrinsic?: {
      parent: string
      translation: number[]
      rotation: number[]
    }
  }[]
  /** When this version was stored. ISO 8601, UTC. */
  created_at: string
}

export type WebhookEndpoint = {
  /** `we_…` */
  id: string
  object: 'webhook_endpoint'
  url: string
  events: ('session.processed' | 'session.failed' | 'export.completed' | 'export.failed')[]
  description: string | null
  /** A disabled endpoint gets nothing. */
  status: 'enabled' | 'disabled'
  /** When it was created. ISO 8601, UTC. */
  created_at: string
}

export type WebhookEndpointWithSecret = {
  /** `we_…` */
  id: string
  object: 'webhook_endpoint'
  url: string
  events: ('session.processed' | 'session.failed' | 'export.completed' | 'export.failed')[]
  description: string | null
  /** A disabled endpoint gets nothing. */
  status: 'enabled' | 'disabled'
  /** When it was created. ISO 8601, UTC. */
  created_at: string
  /** `whsec_…`: the key of the signatures. Shown only in this answer. */
  secret: string
}

export type DeletedWebhookEndpoint = {
  id: string
  object: 'webhook_endpoint'
  deleted: true
}

export type WebhookDelivery = {
  /** `del_…` */
  id: string
  object: 'webhook_delivery'
  /** The endpoint, `we_…`. */
  endpoint: string
  /** The event, `evt_…`; the same at every redelivery. */
  event: string
  event_type: 'session.processed' | 'session.failed' | 'export.completed' | 'export.failed' | 'ping'
  /** Whether it arrived, or will be tried again. */
  status: 'pending' | 'succeeded' | 'failed'
  /** When the delivery was planned. ISO 8601, UTC. */
  created_at: string
  /** When it is tried next. ISO 8601, UTC. */
  next_attempt_at: string | null
  /** Every attempt, the first one first. */
  attempts: {
    /** From 1, over all redeliveries. */
    number: number
    /** When it began. ISO 8601, UTC. */
    at: string
    duration_ms: number
    /** HTTP status of the answer, if one came. */
    status: number | null
    /** Why it failed; null on success. */
    error:
      | 'status'
      | 'redirect'
      | 'timeout'
      | 'dns'
      | 'address_blocked'
      | 'connection'
      | 'tls'
      | 'response_invalid'
      | 'secret_unreadable'
      | 'endpoint_disabled'
      | null
    /** The first 2 KiB of the answer. */
    response: string
  }[]
}

export type Redelivery = {
  object: 'webhook_redelivery'
  /** Deliveries that are tried again. */
  count: number
  /** There are more than one call takes on (10,000); call again. */
  has_more: boolean
}

export type Event = {
  /** `evt_…`; receivers deduplicate by it. */
  id: string
  object: 'event'
  /** What happened. */
  type: 'session.processed' | 'session.failed' | 'export.completed' | 'export.failed' | 'ping'
  /** When it happened. ISO 8601, UTC. */
  created_at: string
  data: {
    /** For session events: `id`, `object`, `status`, `segment_count`; `session.failed` also has `issues`. For `ping`: the endpoint. */
    object: unknown
  }
}

export type CreateSession = {
  /** Site name; created on first use. 1 to 255 characters, no control characters. */
  site: string
  /** Original file name. 1 to 255 characters, no control characters. */
  filename: string
  /** Total size of the file in bytes. */
  bytes: number
  /** Hex SHA-256 of the whole file. */
  sha256: string
  /** Part size in bytes. Default 64 MiB, or the smallest that makes no more than 10,000 parts. */
  part_size?: number
  /** Device name; used to apply a stored calibration. 1 to 255 characters, no control characters. */
  device?: string
  /** Free text kept with the session. Up to 10000 characters. */
  notes?: string
}

export type CompleteSession = {
  /** Every part, once each, in order. */
  parts: {
    number: number
    /** The `ETag` that the upload of the part answered with; quotes may be left out. */
    etag: string
  }[]
}

export type ListSessions = {
  /** Only sessions at this site. 1 to 255 characters, no control characters. */
  site?: string
  /** Only sessions of this device. 1 to 255 characters, no control characters. */
  device?: string
  /** Only sessions in this state. */
  status?: 'uploading' | 'uploaded' | 'processing' | 'processed' | 'failed'
  /** Only sessions with this channel. */
  channel?: string
  /** Only sessions with an issue of this code. */
  issue?: string
  created?: {
    /** Created at or after. ISO 8601 with `Z` or an offset. */
    gte?: string | Date
    /** Created before. ISO 8601 with `Z` or an offset. */
    lt?: string | Date
  }
  recorded?: {
    /** Recorded at or after. ISO 8601 with `Z` or an offset. */
    gte?: string | Date
    /** Recorded before. ISO 8601 with `Z` or an offset. */
    lt?: string | Date
  }
  /** Page size. */
  limit?: number
  /** `next_cursor` of the previous page, with the same filters. */
  cursor?: string
}

export type SearchSegments = {
  /** Only segments of this session. */
  session?: string
  /** Only segments recorded at this site. 1 to 255 characters, no control characters. */
  site?: string
  /** Only segments of this device. 1 to 255 characters, no control characters. */
  device?: string
  /** Only segments with this channel, or with all of several, separated by commas. */
  channel?: string
  /** Only segments with a channel of this kind. */
  kind?:
    | 'camera'
    | 'depth'
    | 'lidar'
    | 'radar'
    | 'imu'
    | 'gps'
    | 'joints'
    | 'pose'
    | 'odometry'
    | 'transforms'
    | 'wrench'
    | 'command'
    | 'audio'
    | 'diagnostics'
    | 'log'
    | 'map'
    | 'event'
    | 'table'
    | 'other'
  /** Only segments with an issue of this code. */
  issue?: string
  /** Only segments with an issue of this severity. */
  severity?: 'info' | 'warning' | 'error'
  /** Words in notes, file name or site of the session; all of them must be there. */
  text?: string
  recorded?: {
    /** Begins at or after. ISO 8601 with `Z` or an offset. */
    gte?: string | Date
    /** Begins before. ISO 8601 with `Z` or an offset. */
    lt?: string | Date
  }
  duration?: {
    /** At least so many seconds long. */
    gte?: string | number
    /** Shorter than so many seconds. */
    lt?: string | number
  }
  /** Page size. */
  limit?: number
  /** `next_cursor` of the previous page, with the same filters. */
  cursor?: string
}

export type ListByName = {
  /** Page size. */
  limit?: number
  /** `next_cursor` of the previous page, with the same filters. */
  cursor?: string
}

export type PutCalibration = {
  /** What is known of each channel of the device. */
  channels: {
    /** The topic in the recording. */
    source: string
    /** Our name for the channel, instead of the one made from the topic. */
    name?: string
    /** Frame of the sensor. */
    frame?: string
    /** The rate to expect. */
    rate_hz?: number
    /** Known offset of the stamps. */
    clock_offset_ns?: number
    intrinsics?: {
      width: number
      height: number
      k: number[]
      d: number[]
      model: string
    }
    extrinsic?: {
      parent: string
      translation: number[]
      rotation: number[]
    }
  }[]
}

export type CreateWebhookEndpoint = {
  /** HTTPS address to call. No credentials, no fragment; public unless the operator allows local targets. */
  url: string
  /** Event names to send, each once. */
  events: ('session.processed' | 'session.failed' | 'export.completed' | 'export.failed')[]
  /** Free text for people. */
  description?: string
}

export type UpdateWebhookEndpoint = {
  /** HTTPS address to call. No credentials, no fragment; public unless the operator allows local targets. */
  url?: string
  /** Event names to send, each once. */
  events?: ('session.processed' | 'session.failed' | 'export.completed' | 'export.failed')[]
  /** Free text for people. */
  description?: string | null
  /** Disabling ends what is still to be delivered; it can be redelivered later. */
  status?: 'enabled' | 'disabled'
}

export type ListWebhookEndpoints = {
  /** Page size. */
  limit?: number
  /** `next_cursor` of the previous page, with the same filters. */
  cursor?: string
}

export type ListWebhookDeliveries = {
  /** Only deliveries in this state. */
  status?: 'pending' | 'succeeded' | 'failed'
  /** Only deliveries of events of this type. */
  event_type?: 'session.processed' | 'session.failed' | 'export.completed' | 'export.failed' | 'ping'
  /** Page size. */
  limit?: number
  /** `next_cursor` of the previous page, with the same filters. */
  cursor?: string
}

export type RedeliverFailed = {
  /** Failed deliveries planned at or after this time. ISO 8601 with `Z` or an offset. */
  since: string | Date
}

export type ListEvents = {
  /** Only events of this type. */
  type?: 'session.processed' | 'session.failed' | 'export.completed' | 'export.failed' | 'ping'
  /** Page size. */
  limit?: number
  /** `next_cursor` of the previous page, with the same filters. */
  cursor?: string
}
