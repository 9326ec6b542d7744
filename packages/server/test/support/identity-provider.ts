import { createHash, generateKeyPairSync, randomUUID, sign } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

// An identity provider on loopback, as OpenID Connect describes it: it lets everybody in whom it is told to.

export type IdentityProvider = {
  issuer: string
  /** Who signs in next. */
  person: { sub: string; email: string; name: string; email_verified: boolean }
  close(): Promise<void>
}

export const CLIENT = { id: 'tapedeck', secret: 'a secret between the two' }

type Grant = { nonce: string | null; challenge: string | null; redirectUri: string }

export async function startIdentityProvider(): Promise<IdentityProvider> {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const grants = new Map<string, Grant>()
  const server = createServer((request, response) => void answer(request, response))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  const issuer = `http://127.0.0.1:${port}`
  const provider: IdentityProvider = {
    issuer,
    person: { sub: 'person-1', email: 'grace@example.com', name: 'Grace', email_verified: true },
    close: async () => {
      server.closeAllConnections()
      await once(server.close(), 'close')
    },
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', issuer)
    const json = (body: unknown, status = 200) =>
      void response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body))
    switch (url.pathname) {
      case '/.well-known/openid-configuration':
        return json({
          issuer,
          authorization_endpoint: `${issuer}/authorize`,
          token_endpoint: `${issuer}/token`,
          userinfo_endpoint: `${issuer}/userinfo`,
          jwks_uri: `${issuer}/keys`,
          id_token_signing_alg_values_supported: ['RS256'],
        })
      case '/keys':
        return json({
          keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'one', alg: 'RS256', use: 'sig' }],
        })
      case '/authorize': {
        const asked = url.searchParams
        const code = randomUUID()
        const redirectUri = asked.get('redirect_uri') ?? ''
        grants.set(code, { nonce: asked.get('nonce'), challenge: asked.get('code_challenge'), redirectUri })
        const back = new URL(redirectUri)
        back.searchParams.set('code', code)
        back.searchParams.set('state', asked.get('state') ?? '')
        return void response.writeHead(302, { Location: back.href }).end()
      }
      case '/token': {
        const form = new URLSearchParams(await textOf(request))
        const grant = grants.get(form.get('code') ?? '')
        grants.delete(form.get('code') ?? '')
        const verified = createHash('sha256')
          .update(form.get('code_verifier') ?? '')
          .digest('base64url')
        const isRight =
          grant && grant.challenge === verified && grant.redirectUri === form.get('redirect_uri')
        if (!isRight || !knowsSecret(request, form)) return json({ error: 'invalid_grant' }, 400)
        return json({
          access_token: randomUUID(),
          token_type: 'Bearer',
          expires_in: 300,
          id_token: idToken(grant),
        })
      }
      case '/userinfo':
        return json(provider.person)
      default:
        return json({ error: 'not_found' }, 404)
    }
  }

  function idToken({ nonce }: Grant): string {
    const nowS = Math.floor(Date.now() / 1000)
    const claims = { iss: issuer, aud: CLIENT.id, iat: nowS, exp: nowS + 300, nonce, ...provider.person }
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
    const signed = `${part({ alg: 'RS256', kid: 'one', typ: 'JWT' })}.${part(claims)}`
    return `${signed}.${sign('sha256', Buffer.from(signed), privateKey).toString('base64url')}`
  }

  return provider
}

function knowsSecret(request: IncomingMessage, form: URLSearchParams): boolean {
  const basic = Buffer.from(request.headers.authorization?.replace('Basic ', '') ?? '', 'base64').toString()
  return (
    form.get('client_secret') === CLIENT.secret ||
    basic.endsWith(`:${encodeURIComponent(CLIENT.secret)}`) ||
    basic.endsWith(`:${CLIENT.secret}`)
  )
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}
