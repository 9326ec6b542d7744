import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import type {
  ApiKey,
  AuditEntry,
  Calibration,
  Channel,
  ConsoleList,
  Device,
  Event,
  Invitation,
  Me,
  Member,
  Segment,
  Session,
  SignInOptions,
  Site,
  Timeline,
  WebhookDelivery,
  WebhookEndpoint,
} from '@tapedeck/contract'
import type { Organisation } from './organisation.ts'
import { askFor, exchange } from './request.ts'

// Every question that a page asks, with the key under which its answer is kept. Keys begin with the organisation: what
// was read of one can never be shown in another.

const nobody = askFor('')

export const meQuery = queryOptions({
  queryKey: ['me'],
  queryFn: () => nobody<Me>('GET', '/console/api/me'),
  staleTime: 60_000,
})

export const signInOptionsQuery = queryOptions({
  queryKey: ['sign_in_options'],
  queryFn: () => nobody<SignInOptions>('GET', '/console/api/sign_in_options'),
})

export type Filters = Record<string, string>

const LIVE_MS = 1_500
const CALM_MS = 10_000

const isMoving = ({ status }: Session) =>
  status === 'processing' || status === 'uploaded' || status === 'uploading'

export function sessionsQuery({ id, ask }: Organisation, filters: Filters) {
  return infiniteQueryOptions({
    queryKey: [id, 'sessions', filters],
    queryFn: ({ pageParam }) =>
      ask<ConsoleList<Session>>('GET', `/v1/sessions${queryOf({ ...filters, ...pageParam })}`),
    initialPageParam: {} as Filters,
    getNextPageParam: ({ next_cursor }): Filters | undefined =>
      next_cursor ? { cursor: next_cursor } : undefined,
    // Pages further down are read once; only what is looked at first is kept alive.
    refetchInterval: (query) => {
      const pages = query.state.data?.pages ?? []
      if (pages.length > 3) return false
      return pages.some(({ data }) => data.some(isMoving)) ? LIVE_MS : CALM_MS
    },
  })
}

export function sessionQuery({ id, ask }: Organisation, session: string) {
  return queryOptions({
    queryKey: [id, 'session', session],
    queryFn: () => ask<Session>('GET', `/v1/sessions/${session}`),
    refetchInterval: (query) => (query.state.data && isMoving(query.state.data) ? LIVE_MS : false),
  })
}

export function sessionTextQuery({ id }: Organisation, session: string) {
  return queryOptions({
    queryKey: [id, 'session-text', session],
    queryFn: async () => (await exchange(id, 'GET', `/v1/sessions/${session}`)).text,
  })
}

export function channelsQuery({ id, ask }: Organisation, session: string) {
  return queryOptions({
    queryKey: [id, 'channels', session],
    queryFn: async () => (await ask<ConsoleList<Channel>>('GET', `/v1/sessions/${session}/channels`)).data,
    staleTime: Number.POSITIVE_INFINITY,
  })
}

export function timelineQuery({ id, ask }: Organisation, session: string) {
  return queryOptions({
    queryKey: [id, 'timeline', session],
    queryFn: () => ask<Timeline>('GET', `/v1/sessions/${session}/timeline?counts=packed`),
    staleTime: Number.POSITIVE_INFINITY,
  })
}

export function segmentsOfQuery(organisation: Organisation, session: string) {
  return queryOptions({
    queryKey: [organisation.id, 'segments-of', session],
    queryFn: () => allSegments(organisation, session),
    staleTime: Number.POSITIVE_INFINITY,
  })
}

const MOST_SEGMENTS_SHOWN = 2_000

/** In the order of time. */
async function allSegments({ ask }: Organisation, session: string): Promise<Segment[]> {
  const found: Segment[] = []
  let cursor: string | null = null
  do {
    const query = queryOf({ session, limit: '500', ...(cursor && { cursor }) })
    const page: ConsoleList<Segment> = await ask('GET', `/v1/segments${query}`)
    found.push(...page.data)
    cursor = page.next_cursor
  } while (cursor && found.length < MOST_SEGMENTS_SHOWN)
  return found.sort((a, b) => a.index - b.index)
}

export function segmentsQuery({ id, ask }: Organisation, filters: Filters) {
  return infiniteQueryOptions({
    queryKey: [id, 'segments', filters],
    queryFn: ({ pageParam }) =>
      ask<ConsoleList<Segment>>('GET', `/v1/segments${queryOf({ ...filters, ...pageParam })}`),
    initialPageParam: {} as Filters,
    getNextPageParam: ({ next_cursor }): Filters | undefined =>
      next_cursor ? { cursor: next_cursor } : undefined,
  })
}

export function sitesQuery({ id, ask }: Organisation) {
  return queryOptions({
    queryKey: [id, 'sites'],
    queryFn: async () => (await ask<ConsoleList<Site>>('GET', '/v1/sites?limit=500')).data,
    staleTime: 30_000,
  })
}

export function devicesQuery({ id, ask }: Organisation) {
  return queryOptions({
    queryKey: [id, 'devices'],
    queryFn: async () => (await ask<ConsoleList<Device>>('GET', '/v1/devices?limit=500')).data,
    staleTime: 30_000,
  })
}

export function calibrationQuery({ id, ask }: Organisation, device: string) {
  return queryOptions({
    queryKey: [id, 'calibration', device],
    queryFn: () => ask<Calibration>('GET', `/v1/devices/${encodeURIComponent(device)}/calibration`),
  })
}

export function endpointsQuery({ id, ask }: Organisation) {
  return queryOptions({
    queryKey: [id, 'endpoints'],
    queryFn: async () =>
      (await ask<ConsoleList<WebhookEndpoint>>('GET', '/v1/webhook_endpoints?limit=100')).data,
  })
}

export function endpointQuery({ id, ask }: Organisation, endpoint: string) {
  return queryOptions({
    queryKey: [id, 'endpoint', endpoint],
    queryFn: () => ask<WebhookEndpoint>('GET', `/v1/webhook_endpoints/${endpoint}`),
  })
}

export function deliveriesQuery({ id, ask }: Organisation, endpoint: string, filters: Filters) {
  return infiniteQueryOptions({
    queryKey: [id, 'deliveries', endpoint, filters],
    queryFn: ({ pageParam }) =>
      ask<ConsoleList<WebhookDelivery>>(
        'GET',
        `/v1/webhook_endpoints/${endpoint}/deliveries${queryOf({ limit: '50', ...filters, ...pageParam })}`,
      ),
    initialPageParam: {} as Filters,
    getNextPageParam: ({ next_cursor }): Filters | undefined =>
      next_cursor ? { cursor: next_cursor } : undefined,
    refetchInterval: (query) => {
      const pages = query.state.data?.pages ?? []
      if (pages.length > 3) return false
      return pages.some(({ data }) => data.some(({ status }) => status === 'pending')) ? LIVE_MS : CALM_MS
    },
  })
}

export function eventQuery({ id, ask }: Organisation, event: string) {
  return queryOptions({
    queryKey: [id, 'event', event],
    queryFn: () => ask<Event>('GET', `/v1/events/${event}`),
    staleTime: Number.POSITIVE_INFINITY,
  })
}

export function keysQuery({ id, ask }: Organisation) {
  return queryOptions({
    queryKey: [id, 'keys'],
    queryFn: async () => (await ask<ConsoleList<ApiKey>>('GET', '/console/api/keys')).data,
    refetchInterval: CALM_MS,
  })
}

export function membersQuery({ id, ask }: Organisation) {
  return queryOptions({
    queryKey: [id, 'members'],
    queryFn: async () => (await ask<ConsoleList<Member>>('GET', '/console/api/members')).data,
  })
}

export function invitationsQuery({ id, ask }: Organisation) {
  return queryOptions({
    queryKey: [id, 'invitations'],
    queryFn: async () => (await ask<ConsoleList<Invitation>>('GET', '/console/api/invitations')).data,
  })
}

export function auditLogQuery({ id, ask }: Organisation, filters: Filters) {
  return infiniteQueryOptions({
    queryKey: [id, 'audit_log', filters],
    queryFn: ({ pageParam }) =>
      ask<ConsoleList<AuditEntry>>('GET', `/console/api/audit_log${queryOf({ ...filters, ...pageParam })}`),
    initialPageParam: {} as Filters,
    getNextPageParam: ({ next_cursor }): Filters | undefined =>
      next_cursor ? { cursor: next_cursor } : undefined,
  })
}

export function queryOf(filters: Filters): string {
  const given = Object.entries(filters).filter(([, value]) => value !== '')
  return given.length > 0 ? `?${new URLSearchParams(given)}` : ''
}
