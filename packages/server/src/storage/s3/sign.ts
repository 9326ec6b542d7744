import { createHmac, hash } from 'node:crypto'

// Signature Version 4 of AWS, as every S3-compatible store checks it: each request names the SHA-256 of its body, and
// that, the method, the address and the headers are signed with a key that is made from the secret, the day and the region.

export type Credentials = { accessKeyId: string; secretAccessKey: string; sessionToken?: string | undefined }

export type Unsigned = {
  method: string
  host: string
  /** Encoded as it goes over the wire. */
  path: string
  query: Record<string, string>
  headers: Record<string, string>
  bodySha256: string
}

type Signer = { region: string; credentials: Credentials; now: Date }

/** All headers to send, the signature among them. */
export function sign(request: Unsigned, { region, credentials, now }: Signer): Record<string, string> {
  const time = now.toISOString().replaceAll(/[-:]|\.\d{3}/g, '')
  const scope = `${time.slice(0, 8)}/${region}/s3/aws4_request`
  const headers: Record<string, string> = {
    ...lowerCased(request.headers),
    host: request.host,
    'x-amz-content-sha256': request.bodySha256,
    'x-amz-date': time,
    ...(credentials.sessionToken !== undefined && { 'x-amz-security-token': credentials.sessionToken }),
  }
  const names = Object.keys(headers).sort()
  const canonical = [
    request.method,
    request.path,
    queryString(request.query),
    ...names.map((name) => `${name}:${headers[name]?.trim()}`),
    '',
    names.join(';'),
    request.bodySha256,
  ].join('\n')
  const toSign = ['AWS4-HMAC-SHA256', time, scope, hash('sha256', canonical)].join('\n')
  const signature = hmac(signingKey(credentials, scope), toSign).toString('hex')
  headers.authorization = `AWS4-HMAC-SHA256 Credential=${credentials.accessKeyId}/${scope}, SignedHeaders=${names.join(';')}, Signature=${signature}`
  return headers
}

/** The query in the one order and encoding that is signed. */
export function queryString(query: Record<string, string>): string {
  return Object.entries(query)
    .map(([name, value]) => `${encode(name)}=${encode(value)}`)
    .sort()
    .join('&')
}

/** A key as a path: its slashes stay. */
export function encodePath(key: string): string {
  return key.split('/').map(encode).join('/')
}

function encode(text: string): string {
  return encodeURIComponent(text).replaceAll(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  )
}

function lowerCased(headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
}

function signingKey({ secretAccessKey }: Credentials, scope: string): Buffer {
  const first: Buffer = Buffer.from(`AWS4${secretAccessKey}`)
  return scope.split('/').reduce((key, step) => hmac(key, step), first)
}

function hmac(key: Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest()
}
