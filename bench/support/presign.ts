import { createHmac, hash } from 'node:crypto'
import type { S3Settings } from '../../packages/server/src/storage/s3/client.ts'
import { encodePath, queryString } from '../../packages/server/src/storage/s3/sign.ts'

const VALID_S = 3600

/** An address that whoever has it may PUT to with these headers, as clients of a bare store use it. */
export function presignPut(
  { endpoint, bucket, region, credentials }: S3Settings,
  key: string,
  headers: Record<string, string> = {},
): string {
  if (!credentials) throw new Error('presigning needs keys')
  const base = new URL(endpoint)
  const path = `${base.pathname.replace(/\/$/, '')}/${bucket}/${encodePath(key)}`
  const time = new Date().toISOString().replaceAll(/[-:]|\.\d{3}/g, '')
  const scope = `${time.slice(0, 8)}/${region}/s3/aws4_request`
  const signed = Object.entries({ ...headers, host: base.host }).sort(([a], [b]) => (a < b ? -1 : 1))
  const names = signed.map(([name]) => name).join(';')
  const query = queryString({
    'X-Amz-Algorithm': 'AWS4-HMAC-SHA256',
    'X-Amz-Credential': `${credentials.accessKeyId}/${scope}`,
    'X-Amz-Date': time,
    'X-Amz-Expires': String(VALID_S),
    'X-Amz-SignedHeaders': names,
  })
  const lines = signed.map(([name, value]) => `${name}:${value}`)
  const canonical = ['PUT', path, query, ...lines, '', names, 'UNSIGNED-PAYLOAD'].join('\n')
  const toSign = ['AWS4-HMAC-SHA256', time, scope, hash('sha256', canonical)].join('\n')
  const first: Buffer = Buffer.from(`AWS4${credentials.secretAccessKey}`)
  const signingKey = scope.split('/').reduce((key, step) => hmac(key, step), first)
  return `${base.origin}${path}?${query}&X-Amz-Signature=${hmac(signingKey, toSign).toString('hex')}`
}

function hmac(key: Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest()
}
