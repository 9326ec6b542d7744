import {
  type CreatedInvitation,
  type ErrorBody,
  type Joined,
  type Me,
  ORGANISATION_HEADER,
  type Role,
} from '@tapedeck/contract'
import type { Answer } from './client.ts'
import type { Service } from './service.ts'

// What the pages of the console do, without the pages: a jar of cookies, an origin, and the header of an organisation.

export type Browser = {
  cookies: Map<string, string>
  organisation: string
  call<T = unknown>(
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<Answer<T>>
}

export function openBrowser(url: string): Browser {
  const browser: Browser = {
    cookies: new Map(),
    organisation: '',
    async call<T>(method: string, path: string, body?: unknown, headers: Record<string, string> = {}) {
      const response = await fetch(`${url}${path}`, {
        method,
        redirect: 'manual',
        headers: {
          Origin: url,
          [ORGANISATION_HEADER]: browser.organisation,
          Cookie: [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; '),
          ...(body !== undefined && { 'Content-Type': 'application/json' }),
          ...headers,
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      })
      keep(browser.cookies, response.headers.getSetCookie())
      const text = await response.text()
      const isJson = response.headers.get('content-type')?.includes('json')
      return {
        status: response.status,
        headers: response.headers,
        body: (isJson ? JSON.parse(text) : text) as T,
      }
    },
  }
  return browser
}

function keep(jar: Map<string, string>, cookies: string[]): void {
  for (const cookie of cookies) {
    const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(cookie) ?? []
    if (/max-age=0/i.test(cookie)) jar.delete(name)
    else jar.set(name, value)
  }
}

export const PASSWORD = 'correct horse battery'

export const tokenOf = (link: string): string => link.split('#')[1] ?? ''

/** Uses the link of an invitation with a new account, and is then signed in to its organisation. */
export async function join(service: Pick<Service, 'url'>, link: string, email: string): Promise<Browser> {
  const browser = openBrowser(service.url)
  const body = { token: tokenOf(link), name: email.split('@')[0], email, password: PASSWORD }
  const joined = await browser.call<Joined & ErrorBody>('POST', '/console/api/join', body)
  if (joined.status !== 200)
    throw new Error(`joining answered ${joined.status} ${JSON.stringify(joined.body)}`)
  await enter(browser)
  return browser
}

/** From now on the browser asks for its first organisation. */
export async function enter(browser: Browser): Promise<Me> {
  const { body } = await browser.call<Me>('GET', '/console/api/me')
  browser.organisation = body.organisations[0]?.id ?? ''
  return body
}

export const joinAsOwner = (
  service: Pick<Service, 'url' | 'firstLink'>,
  email = 'ada@example.com',
): Promise<Browser> => join(service, service.firstLink, email)

/** Another account with this role, invited by the owner. */
export async function joinAs(service: Service, owner: Browser, role: Role, email = `${role}@example.com`) {
  return join(service, await invite(owner, role), email)
}

export async function invite(owner: Browser, role: Role): Promise<string> {
  const body = { role, label: `a ${role}` }
  const made = await owner.call<CreatedInvitation>('POST', '/console/api/invitations', body)
  if (made.status !== 200) throw new Error(`inviting answered ${made.status} ${JSON.stringify(made.body)}`)
  return made.body.url
}
