import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Miniflare } from 'miniflare'
import type { S3Settings } from '../../src/storage/s3/client.ts'
import { openClient } from '../../src/storage/s3/client.ts'
import { elementsOf, textOf } from '../../src/storage/s3/xml.ts'

// A real S3 server on this machine: Cloudflare's R2 as it runs for developers. It checks signatures, ranges and
// Content-MD5; it keeps objects in a directory, so that it can be stopped and started again.

export const credentials = { accessKeyId: 'test-key', secretAccessKey: 'test-secret' }

export type TestStore = {
  /** A bucket that nobody else uses. */
  bucket(): S3Settings
  close(): Promise<void>
}

export async function startStore(buckets = 16): Promise<TestStore> {
  const dir = await mkdtemp(join(tmpdir(), 'tapedeck-s3-'))
  const names = Array.from({ length: buckets }, (_, index) => `bucket-${index + 1}`)
  const server = new Miniflare({
    modules: true,
    script: 'export default { fetch: () => new Response(null, { status: 404 }) }',
    host: '127.0.0.1',
    port: 0,
    r2Persist: dir,
    r2Buckets: Object.fromEntries(
      names.map((id) => [id.replace('-', '_'), { id, s3Credentials: credentials }]),
    ),
  })
  const endpoint = new URL('/cdn-cgi/local/r2/s3', await server.ready).href
  return {
    bucket() {
      const bucket = names.pop()
      if (!bucket) throw new Error('the store was started with too few buckets')
      return { bucket, endpoint, region: 'auto', forcePathStyle: true, credentials }
    },
    async close() {
      await server.dispose()
      await rm(dir, { recursive: true, force: true })
    },
  }
}

/** What a service is configured with to use the bucket. */
export function s3Env({ bucket, endpoint, region }: S3Settings): Record<string, string> {
  return {
    TAPEDECK_STORAGE: 's3',
    S3_BUCKET: bucket,
    S3_ENDPOINT: endpoint,
    S3_REGION: region,
    AWS_ACCESS_KEY_ID: credentials.accessKeyId,
    AWS_SECRET_ACCESS_KEY: credentials.secretAccessKey,
  }
}

/** Every object of a bucket, as an operator would look. */
export async function objectsOf(settings: S3Settings, prefix = ''): Promise<string[]> {
  const client = await openClient(settings)
  try {
    const { body } = await client.send({ method: 'GET', query: { 'list-type': '2', prefix } })
    if (textOf(body.toString(), 'IsTruncated') === 'true') throw new Error('more objects than one page holds')
    return elementsOf(body.toString(), 'Contents').map((entry) => textOf(entry, 'Key') ?? '')
  } finally {
    client.close()
  }
}
