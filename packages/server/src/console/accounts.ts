import { MAX_PASSWORD_CHARACTERS, MIN_PASSWORD_CHARACTERS } from '@tapedeck/contract'
import type { Clock } from '../clock.ts'
import type { Db } from '../db/database.ts'
import { ApiError } from '../errors.ts'
import { newId } from '../ids.ts'
import type { Keys } from '../secrets.ts'
import { resignCookies } from './resign-cookies.ts'

// Accounts, passwords and sign-ins are kept by better-auth, in the schema `auth` of the same database. Nothing else
// imports it: it is asked here as a server would be, and its answers become ours. Which organisation an account
// belongs to is not its business.

export type Account = { id: string; name: string; email: string }

/** Who asks: what a browser sent. */
export type Client = { cookie: string; address: string; userAgent: string }

export type Accounts = {
  /** The other way to sign in, where there is one. */
  elsewhere: string | null
  /** Loads the library before it is needed: it takes a moment. */
  prepare(): void
  /** Who is signed in. `keepAlive` lets a sign-in that is in use go on, by new cookies. */
  find(client: Client, keepAlive?: boolean): Promise<{ account: Account; cookies: string[] } | undefined>
  signIn(client: Client, input: { email: string; password: string }): Promise<string[]>
  signUp(
    client: Client,
    input: { name: string; email: string; password: string },
  ): Promise<{ account: Account; cookies: string[] }>
  /** Takes back an account that was just made. */
  undo(account: Account): Promise<void>
  signOut(client: Client): Promise<string[]>
  signOutEverywhere(client: Client): Promise<string[]>
  /** Ends every other sign-in too. */
  changePassword(client: Client, input: { current: string; wanted: string }): Promise<string[]>
  beginElsewhere(client: Client, returnTo: string): Promise<{ url: string; cookies: string[] }>
  finishElsewhere(client: Client, query: string): Promise<{ location: string; cookies: string[] }>
}

export type Elsewhere = { issuer: string; clientId: string; clientSecret: string; name: string }

type Options = {
  db: Db
  clock: Clock
  secrets: Keys
  consoleUrl: () => string
  elsewhere: Elsewhere | undefined
  onError: (error: unknown) => void
}

const PATH = '/console/api/auth'
/** How long a sign-in lasts that is not used. */
export const SIGN_IN_S = 7 * 86_400
const RENEW_AFTER_S = 86_400
const ADDRESS_HEADER = 'x-client-address'

export function openAccounts(options: Options): Accounts {
  const [current, ...others] = options.secrets
  const cookieKeys: Keys<string> = [textOf(current), ...others.map(textOf)]
  let library: ReturnType<typeof load> | undefined
  const open = () => {
    library ??= load(options).catch((error: unknown) => {
      library = undefined
      throw error
    })
    return library
  }

  async function ask(client: Client, path: string, body?: object): Promise<Response> {
    const { handler } = await open()
    const origin = new URL(options.consoleUrl()).origin
    return handler(
      new Request(`${origin}${PATH}${path}`, {
        method: body ? 'POST' : 'GET',
        // The origin of the page was checked before; see http/console-guard.
        headers: {
          origin,
          cookie: resignCookies(client.cookie, cookieKeys),
          'user-agent': client.userAgent,
          [ADDRESS_HEADER]: client.address,
          ...(body && { 'content-type': 'application/json' }),
        },
        ...(body && { body: JSON.stringify(body) }),
      }),
    )
  }

  /** Cookies of a success, or the refusal. */
  async function done(client: Client, path: string, body: object): Promise<string[]> {
    const response = await ask(client, path, body)
    if (!response.ok) throw await refusal(response)
    return response.headers.getSetCookie()
  }

  return {
    elsewhere: options.elsewhere?.name ?? null,
    prepare: () => void open().catch(options.onError),
    async find(client, keepAlive = false) {
      if (client.cookie === '') return undefined
      const response = await ask(client, `/get-session${keepAlive ? '' : '?disableRefresh=true'}`)
      if (!response.ok) throw await refusal(response)
      const account = accountIn(await response.json())
      return account && { account, cookies: response.headers.getSetCookie() }
    },
    signIn: (client, { email, password }) =>
      done(client, '/sign-in/email', { email, password, rememberMe: true }),
    async signUp(client, input) {
      const response = await ask({ ...client, cookie: '' }, '/sign-up/email', input)
      if (!response.ok) throw await refusal(response)
      const account = accountIn(await response.json())
      if (!account) throw new Error('a new account came without a user')
      return { account, cookies: response.headers.getSetCookie() }
    },
    async undo({ id }) {
      await options.db.deleteFrom('auth.user').where('id', '=', id).execute()
    },
    signOut: (client) => done(client, '/sign-out', {}),
    async signOutEverywhere(client) {
      await done(client, '/revoke-sessions', {})
      return done(client, '/sign-out', {})
    },
    changePassword: (client, { current, wanted }) =>
      done(client, '/change-password', {
        currentPassword: current,
        newPassword: wanted,
        revokeOtherSessions: true,
      }),
    async beginElsewhere(client, returnTo) {
      const body = {
        provider: 'oidc',
        callbackURL: returnTo,
        errorCallbackURL: '/console/sign-in',
        disableRedirect: true,
      }
      const response = await ask(client, '/sign-in/social', body)
      const answer: unknown = response.ok ? await response.json() : undefined
      const url = textIn(answer, 'url')
      if (url) return { url, cookies: response.headers.getSetCookie() }
      // Its addresses are asked for once, when the library is loaded: they are asked for again the next time.
      library = undefined
      throw new ApiError(
        'sign_in_unavailable',
        `${options.elsewhere?.name ?? 'the other service'} does not answer`,
        {
          retryAfterS: 10,
        },
      )
    },
    async finishElsewhere(client, query) {
      const response = await ask(client, `/callback/oidc${query}`)
      const location = response.headers.get('location') ?? '/console/sign-in?error=unknown'
      return { location, cookies: response.headers.getSetCookie() }
    },
  }
}

const textOf = (key: Buffer) => key.toString('base64url')

async function load({ db, clock, secrets, consoleUrl, elsewhere, onError }: Options) {
  const { betterAuth } = await import('better-auth')
  const { genericOAuth } = await import('better-auth/plugins/generic-oauth')
  return betterAuth({
    baseURL: new URL(consoleUrl()).origin,
    basePath: PATH,
    secret: textOf(secrets[0]),
    database: { db: db.withSchema('auth'), type: 'postgres' },
    telemetry: { enabled: false },
    emailAndPassword: {
      enabled: true,
      minPasswordLength: MIN_PASSWORD_CHARACTERS,
      maxPasswordLength: MAX_PASSWORD_CHARACTERS,
    },
    session: { expiresIn: SIGN_IN_S, updateAge: RENEW_AFTER_S },
    account: { encryptOAuthTokens: true },
    rateLimit: {
      enabled: true,
      storage: 'database',
      window: 60,
      max: 30,
      customRules: {
        '/get-session': false,
        '/sign-in/*': { window: 60, max: 30 },
        '/sign-up/*': { window: 60, max: 30 },
        '/change-password': { window: 60, max: 10 },
      },
    },
    advanced: {
      cookiePrefix: 'tapedeck',
      defaultCookieAttributes: { sameSite: 'lax', httpOnly: true, path: '/' },
      ipAddress: { ipAddressHeaders: [ADDRESS_HEADER] },
      database: {
        generateId: ({ model }) => (model === 'user' ? newId('usr', clock.now()) : crypto.randomUUID()),
      },
    },
    logger: { log: (level, message) => level === 'error' && onError(new Error(`accounts: ${message}`)) },
    plugins: elsewhere
      ? [
          genericOAuth({
            config: [
              {
                providerId: 'oidc',
                discoveryUrl: `${elsewhere.issuer}/.well-known/openid-configuration`,
                clientId: elsewhere.clientId,
                clientSecret: elsewhere.clientSecret,
                scopes: ['openid', 'email', 'profile'],
                pkce: true,
              },
            ],
          }),
        ]
      : [],
  })
}

async function refusal(response: Response): Promise<Error> {
  const code = textIn(await response.json().catch(() => undefined), 'code')
  if (response.status === 429) {
    const retryAfterS = Number(response.headers.get('x-retry-after')) || 60
    return new ApiError('rate_limit_exceeded', `too many attempts; wait ${retryAfterS} s`, { retryAfterS })
  }
  if (code?.startsWith('USER_ALREADY_EXISTS')) {
    return new ApiError(
      'account_exists',
      'there is an account with this email address; sign in, then open the link again',
      {
        param: 'email',
      },
    )
  }
  if (code === 'INVALID_PASSWORD') {
    return new ApiError('sign_in_failed', 'the current password is another one', {
      param: 'current_password',
    })
  }
  if (code === 'INVALID_EMAIL_OR_PASSWORD' || code === 'INVALID_EMAIL') {
    return new ApiError('sign_in_failed', 'email address and password do not belong together')
  }
  if (response.status === 401) return new ApiError('sign_in_required', 'the sign-in has ended; sign in again')
  return new Error(`accounts answered ${response.status} ${code}`)
}

function accountIn(answer: unknown): Account | undefined {
  const user: unknown = typeof answer === 'object' && answer ? Reflect.get(answer, 'user') : undefined
  const [id, name, email] = [textIn(user, 'id'), textIn(user, 'name'), textIn(user, 'email')]
  return id === undefined ? undefined : { id, name: name ?? '', email: email ?? '' }
}

function textIn(value: unknown, field: string): string | undefined {
  const text: unknown = typeof value === 'object' && value ? Reflect.get(value, field) : undefined
  return typeof text === 'string' ? text : undefined
}
