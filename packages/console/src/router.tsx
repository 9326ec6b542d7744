import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
  redirect,
} from '@tanstack/react-router'
import { loadCode } from './api/load-code.ts'
import { meQuery } from './api/queries.ts'
import { queryClient, whenSignedOut } from './api/query-client.ts'
import { Refusal } from './api/request.ts'
import { OrganisationLayout } from './parts/organisation-layout.tsx'
import { Failure, NothingHere } from './parts/states.tsx'

// Every page and its address. What a page is filtered by stands in its address too, as plain words.

type Search = Record<string, string>

const root = createRootRoute({
  component: Outlet,
  notFoundComponent: NothingHere,
  errorComponent: ({ error, reset }) => <Failure error={error} onRetry={reset} />,
  validateSearch: (search: Record<string, unknown>): Search => onlyText(search),
})

const home = createRoute({
  getParentRoute: () => root,
  path: '/',
  async beforeLoad() {
    const me = await queryClient.ensureQueryData(meQuery).catch((error: unknown) => {
      if (error instanceof Refusal && error.status === 401) throw redirect({ to: '/sign-in' })
      throw error
    })
    const first = me.organisations[0]
    throw first
      ? redirect({ to: '/o/$organisation/sessions', params: { organisation: first.name } })
      : redirect({ to: '/account' })
  },
})

const signIn = createRoute({
  getParentRoute: () => root,
  path: '/sign-in',
  component: lazyPage(() => import('./pages/sign-in.tsx'), 'SignInPage'),
})
const join = createRoute({
  getParentRoute: () => root,
  path: '/join',
  component: lazyPage(() => import('./pages/join.tsx'), 'JoinPage'),
})
const account = createRoute({
  getParentRoute: () => root,
  path: '/account',
  component: lazyPage(() => import('./pages/account.tsx'), 'AccountPage'),
})

const organisation = createRoute({
  getParentRoute: () => root,
  path: '/o/$organisation',
  component: OrganisationLayout,
})

const sessions = createRoute({
  getParentRoute: () => organisation,
  path: '/sessions',
  component: lazyPage(() => import('./pages/sessions.tsx'), 'SessionsPage'),
})
const session = createRoute({
  getParentRoute: () => organisation,
  path: '/sessions/$session',
  component: lazyPage(() => import('./pages/session.tsx'), 'SessionPage'),
})
const segments = createRoute({
  getParentRoute: () => organisation,
  path: '/segments',
  component: lazyPage(() => import('./pages/segments.tsx'), 'SegmentsPage'),
})
const devices = createRoute({
  getParentRoute: () => organisation,
  path: '/devices',
  component: lazyPage(() => import('./pages/devices.tsx'), 'DevicesPage'),
})
const device = createRoute({
  getParentRoute: () => organisation,
  path: '/devices/$device',
  component: lazyPage(() => import('./pages/device.tsx'), 'DevicePage'),
})
const webhooks = createRoute({
  getParentRoute: () => organisation,
  path: '/webhooks',
  component: lazyPage(() => import('./pages/webhooks.tsx'), 'WebhooksPage'),
})
const webhook = createRoute({
  getParentRoute: () => organisation,
  path: '/webhooks/$endpoint',
  component: lazyPage(() => import('./pages/webhook.tsx'), 'WebhookPage'),
})
const keys = createRoute({
  getParentRoute: () => organisation,
  path: '/keys',
  component: lazyPage(() => import('./pages/keys.tsx'), 'KeysPage'),
})
const members = createRoute({
  getParentRoute: () => organisation,
  path: '/members',
  component: lazyPage(() => import('./pages/members.tsx'), 'MembersPage'),
})
const auditLog = createRoute({
  getParentRoute: () => organisation,
  path: '/audit-log',
  component: lazyPage(() => import('./pages/audit-log.tsx'), 'AuditLogPage'),
})
const api = createRoute({
  getParentRoute: () => organisation,
  path: '/api',
  component: lazyPage(() => import('./pages/api.tsx'), 'ApiPage'),
})
const start = createRoute({
  getParentRoute: () => organisation,
  path: '/',
  beforeLoad: ({ params }) => {
    throw redirect({ to: '/o/$organisation/sessions', params })
  },
})

const inOrganisation = [
  sessions,
  session,
  segments,
  devices,
  device,
  webhooks,
  webhook,
  keys,
  members,
  auditLog,
  api,
  start,
]

export const router = createRouter({
  routeTree: root.addChildren([home, signIn, join, account, organisation.addChildren(inOrganisation)]),
  basepath: '/console',
  defaultPreload: 'intent',
  scrollRestoration: true,
  parseSearch: (text) => Object.fromEntries(new URLSearchParams(text)),
  stringifySearch: (search) => {
    const text = new URLSearchParams(onlyText(search)).toString()
    return text === '' ? '' : `?${text}`
  },
})

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router
  }
}

whenSignedOut(() => {
  const { pathname, search } = window.location
  if (/^\/console\/(sign-in|join)/.test(pathname)) return
  queryClient.clear()
  void router.navigate({ to: '/sign-in', search: { return_to: `${pathname}${search}` } })
})

function onlyText(search: Record<string, unknown>): Search {
  return Object.fromEntries(
    Object.entries(search).filter(
      (entry): entry is [string, string] => typeof entry[1] === 'string' && entry[1] !== '',
    ),
  )
}

/**
 * A page whose code is loaded when it is first gone to. If the service answers and does not have it, a newer console
 * has taken the place of this one: the router then loads the whole page anew, once.
 */
function lazyPage<Module extends Record<string, unknown>, Name extends keyof Module>(
  load: () => Promise<Module>,
  name: Name,
) {
  return lazyRouteComponent(() => loadCode(load), name)
}
