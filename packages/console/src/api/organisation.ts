import type { Me, MyOrganisation, Role } from '@tapedeck/contract'
import { createContext, useContext } from 'react'
import { type Ask, askFor } from './request.ts'

/** The organisation whose pages are shown: itself, or its sandbox. */
export type Organisation = {
  id: string
  /** Its name in addresses of pages: `field-team`, or `field-team~sandbox`. */
  slug: string
  name: string
  role: Role
  isSandbox: boolean
  mayWrite: boolean
  isOwner: boolean
  ask: Ask
}

const SANDBOX = '~sandbox'

export function findOrganisation(me: Me, slug: string): Organisation | undefined {
  const isSandbox = slug.endsWith(SANDBOX)
  const name = isSandbox ? slug.slice(0, -SANDBOX.length) : slug
  const found = me.organisations.find((candidate) => candidate.name === name)
  return found && toOrganisation(found, isSandbox)
}

export function slugOf(name: string, isSandbox = false): string {
  return isSandbox ? `${name}${SANDBOX}` : name
}

function toOrganisation({ id, sandbox, name, role }: MyOrganisation, isSandbox: boolean): Organisation {
  const asked = isSandbox ? sandbox : id
  return {
    id: asked,
    slug: slugOf(name, isSandbox),
    name,
    role,
    isSandbox,
    mayWrite: role !== 'viewer',
    isOwner: role === 'owner',
    ask: askFor(asked),
  }
}

export const OrganisationContext = createContext<Organisation | undefined>(undefined)

export function useOrganisation(): Organisation {
  const organisation = useContext(OrganisationContext)
  if (!organisation) throw new Error('this page belongs to an organisation')
  return organisation
}
