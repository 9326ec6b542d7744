import { type LookupAddress, lookup } from 'node:dns'
import { isIP } from 'node:net'
import { invalid } from '../errors.ts'
import { isPublicAddress } from './public-address.ts'

// Where webhooks may go. The rules are applied when an endpoint is made and again for every connection, to the
// address that is then connected to: a name may change its mind in between.

export type Resolve = (host: string) => Promise<LookupAddress[]>

export type Targets = {
  /** Refuses an address that may not be called, naming `url`. */
  check(url: string): Promise<void>
  /** Refuses a literal address that may not be connected to; names are refused by `resolve`. */
  checkLiteral(url: string): void
  /** The addresses of a host, all of them allowed. */
  resolve(host: string): Promise<LookupAddress[]>
}

/** Says that, not what was found there. */
export class AddressBlocked extends Error {
  readonly code = 'ADDRESS_BLOCKED'
}

export function systemResolve(host: string): Promise<LookupAddress[]> {
  return new Promise((resolve, reject) => {
    lookup(host, { all: true }, (error, addresses) => (error ? reject(error) : resolve(addresses)))
  })
}

const CHECK_TIMEOUT_MS = 3_000

export function openTargets(mode: 'public' | 'local', resolveName: Resolve = systemResolve): Targets {
  const refuse = (address: string) => {
    if (mode === 'public' && !isPublicAddress(address))
      throw new AddressBlocked('the host is not at a public address')
  }
  const targets: Targets = {
    async check(text) {
      const url = checkForm(text, mode)
      if (mode === 'local') return
      try {
        targets.checkLiteral(text)
        await Promise.race([targets.resolve(hostOf(url)), timeout()])
      } catch (error) {
        if (error instanceof AddressBlocked) throw invalid('url', 'url must lead to a public address')
        // A name that cannot be resolved now is judged again when it is called.
      }
    },
    checkLiteral(text) {
      const host = hostOf(new URL(text))
      if (isIP(host)) refuse(host)
    },
    async resolve(host) {
      const addresses = isIP(host) ? [{ address: host, family: isIP(host) }] : await resolveName(host)
      // One address inside is enough to refuse the name: which one would be taken is not ours to say.
      for (const { address } of addresses) refuse(address)
      return addresses
    },
  }
  return targets
}

/** Scheme, credentials, port. `URL` has already turned decimal, octal and hexadecimal hosts into addresses. */
function checkForm(text: string, mode: 'public' | 'local'): URL {
  if (!URL.canParse(text) || !/^[a-z]+:\/\//i.test(text)) {
    throw invalid('url', 'url must be a whole address, such as https://example.com/hook')
  }
  const url = new URL(text)
  const schemes = mode === 'public' ? ['https:'] : ['https:', 'http:']
  if (!schemes.includes(url.protocol)) {
    throw invalid('url', `url must begin with https://, not ${JSON.stringify(url.protocol.slice(0, 20))}`)
  }
  if (url.username || url.password) throw invalid('url', 'url must not have credentials in it')
  if (url.hash) throw invalid('url', 'url must not have a fragment')
  const port = Number(url.port || 443)
  if (mode === 'public' && port !== 443 && port < 1024)
    throw invalid('url', 'url must have port 443, or one from 1024 on')
  return url
}

function hostOf(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, '')
}

function timeout(): Promise<never> {
  return new Promise((_, reject) => {
    setTimeout(() => reject(new Error('the name was not resolved in time')), CHECK_TIMEOUT_MS).unref()
  })
}
