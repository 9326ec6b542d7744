import { ORGANISATION_HEADER } from '@tapedeck/contract'
import type { FastifyRequest } from 'fastify'
import type { Account, Accounts, Client } from '../console/accounts.ts'
import { findMember, type Member } from '../console/member.ts'
import type { Db } from '../db/database.ts'
import { ApiError } from '../errors.ts'

// A cookie is sent by the browser whoever made the page. So a request that is believed for its cookie must show that a
// page of the console made it: by a header that no other page may send, and by where the browser says it comes from.

export type ConsoleAccess = { db: Db; accounts: Accounts; consoleUrl: () => string }

/** What a browser sent of itself. */
export function clientOf(request: FastifyRequest): Client {
  const { cookie = '', 'user-agent': userAgent = '' } = request.headers
  return { cookie, userAgent: userAgent.slice(0, 500), address: request.ip }
}

/** Whether a request without a key is one of a signed-in member. */
export function namesOrganisation(request: FastifyRequest): boolean {
  return request.headers[ORGANISATION_HEADER] !== undefined
}

/** The member behind the cookie, in the organisation that the header names. */
export async function admitMember(access: ConsoleAccess, request: FastifyRequest): Promise<Member> {
  const account = await admitAccount(access, request)
  return findMember(access.db, account, String(request.headers[ORGANISATION_HEADER]))
}

export async function admitAccount(access: ConsoleAccess, request: FastifyRequest): Promise<Account> {
  refuseOtherPages(access.consoleUrl(), request)
  const found = await access.accounts.find(clientOf(request))
  if (!found)
    throw new ApiError('sign_in_required', 'nobody is signed in, or the sign-in has ended; sign in again')
  return found.account
}

export function refuseOtherPages(consoleUrl: string, request: FastifyRequest): void {
  const { origin, host, 'sec-fetch-site': site } = request.headers
  const fromHere = origin === undefined ? request.method === 'GET' : isHere(origin, host, consoleUrl)
  const sameSite = site === undefined || site === 'same-origin'
  if (namesOrganisation(request) && fromHere && sameSite) return
  throw new ApiError('origin_refused', 'this is for the pages of the console; use an API key elsewhere')
}

/** The host that the browser itself asked is ours, whatever name it has for us. */
function isHere(origin: string, host: string | undefined, consoleUrl: string): boolean {
  if (!URL.canParse(origin)) return false
  return new URL(origin).host === host || new URL(origin).origin === new URL(consoleUrl).origin
}
