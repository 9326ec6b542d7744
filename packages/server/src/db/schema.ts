import type {
  AnyEventType,
  AttemptError,
  DeliveryStatus,
  EventType,
  Issue,
  Role,
  SessionStatus,
} from '@tapedeck/contract'
import type { ColumnType, Generated, Selectable } from 'kysely'

// The tables as migrations/ makes them.

export type ActorKind = 'key' | 'member' | 'command' | 'service'

type CreatedAt = ColumnType<Date, never, never>

export type Tables = {
  organisations: {
    id: string
    name: string
    sandbox_of: string | null
    created_at: CreatedAt
    seeded_at: Date | null
  }
  api_keys: {
    id: string
    organisation_id: string
    name: string
    mode: 'live' | 'test'
    permissions: string[]
    hash: Buffer
    created_at: CreatedAt
    last_used_at: Date | null
    revoked_at: Date | null
  }
  nodes: {
    id: Generated<number>
    seen_at: Generated<Date>
    schema_version: number | null
    secrets: string[] | null
    serves_api: Generated<boolean>
  }
  signing_secrets: { fingerprint: string; needed_until: Date }
  sites: { organisation_id: string; name: string; created_at: CreatedAt }
  sessions: {
    id: string
    organisation_id: string
    site: string
    device: string | null
    filename: string
    bytes: number
    sha256: Buffer
    part_size: number
    part_count: number
    status: Generated<SessionStatus>
    recorded_at: Date | null
    duration_s: number | null
    channels: Generated<string[]>
    segment_count: Generated<number>
    issues: ColumnType<Issue[], string | undefined, string>
    notes: string | null
    created_at: Generated<Date>
    processed_at: Date | null
    completing_node: number | null
    completing_claim: string | null
    processing_stage: string | null
    processing_fraction: number | null
    format: string | null
    processor: ColumnType<unknown, string | null | undefined, string | null>
  }
  channels: {
    session_id: string
    position: number
    name: string
    kind: string
    topic: string
    schema: string
    encoding: string
    message_count: number
    bytes: number
    first_ns: bigint | null
    last_ns: bigint | null
    rate_hz: number | null
    jitter_ns: number | null
    largest_gap_ns: number | null
    clock: ColumnType<unknown, string | null, never>
  }
  timelines: { session_id: string; start_ns: bigint; bin_ns: number; bin_count: number; counts: Buffer }
  segments: {
    id: string
    organisation_id: string
    session_id: string
    position: number
    start_ns: bigint
    end_ns: bigint
    started_at: Date | null
    duration_s: number
    cut: string
    label: string
    site: string
    device: string | null
    channels: ColumnType<unknown, string, never>
    channel_names: string[]
    kinds: string[]
    issues: string[]
    severities: string[]
    message_count: number
    activity: number
    created_at: Date
  }
  calibrations: {
    organisation_id: string
    device: string
    version: number
    body: ColumnType<unknown, string, never>
    created_at: Generated<Date>
  }
  session_facets: {
    organisation_id: string
    facet: 'channel' | 'issue' | 'kind' | 'severity'
    value: string
    created_at: Date
    session_id: string
  }
  parts: {
    session_id: string
    number: number
    bytes: number
    sha256: Buffer
    object: string
    received_at: Generated<Date>
  }
  deleted_sessions: { session_id: string; deleted_at: Generated<Date> }
  collections: {
    id: Generated<number>
    started_at: Generated<Date>
    ended_at: Date | null
    node_id: number | null
    place: Generated<string>
    seen: Generated<number>
    removed: Generated<number>
    unknown: Generated<number>
  }
  idempotency_keys: {
    organisation_id: string
    key: string
    request_hash: Buffer
    node_id: number | null
    claim: string | null
    response: Buffer | null
    created_at: Generated<Date>
  }
  webhook_endpoints: {
    id: string
    organisation_id: string
    url: string
    events: EventType[]
    description: string | null
    status: Generated<'enabled' | 'disabled'>
    secret: Buffer
    previous_secret: Buffer | null
    previous_secret_until: Date | null
    timeouts: Generated<number>
    paused_until: Date | null
    created_at: Generated<Date>
  }
  events: {
    id: string
    organisation_id: string
    type: AnyEventType
    body: string
    created_at: Date
  }
  deliveries: {
    id: string
    organisation_id: string
    endpoint_id: string
    event_id: string
    event_type: AnyEventType
    status: Generated<DeliveryStatus>
    attempt_count: Generated<number>
    round_attempts: Generated<number>
    next_attempt_at: Date | null
    deadline_at: Date
    created_at: Date
  }
  delivery_attempts: {
    delivery_id: string
    number: number
    started_at: Date
    duration_ms: number
    status: number | null
    error: AttemptError | null
    response: string
  }
  'auth.user': { id: string; name: string; email: string }
  memberships: { organisation_id: string; user_id: string; role: Role; created_at: CreatedAt }
  invitations: {
    id: string
    organisation_id: string
    role: Role
    label: string
    hash: Buffer
    invited_by: string | null
    created_at: CreatedAt
    expires_at: Date | null
    accepted_at: Date | null
    revoked_at: Date | null
  }
  audit_log: {
    id: Generated<number>
    organisation_id: string
    at: CreatedAt
    actor_kind: ActorKind
    actor_id: string
    actor_name: string
    action: string
    object: string
    detail: string
    request_id: string
  }
  processing_gate: { only_row: Generated<boolean>; paused: Generated<boolean> }
}

export type SessionRow = Selectable<Tables['sessions']>
export type PartRow = Selectable<Tables['parts']>
