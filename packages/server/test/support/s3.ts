import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Miniflare } from 'miniflare'
import { freePorts } from '../../../../scripts/free-ports.ts'
import type { S3Settings } from '../../src/storage/s3/client.ts'
import { openClient } from '../../src/storage/s3/client.ts'
import type { Enforced } from '../../src/storage/s3/examine.ts'
import { openS3 } from '../../src/storage/s3/store.ts'
import { elementsOf, textOf } from '../../src/storage/s3/xml.ts'
import { childrenOf, kill } from '../embedded/processes.ts'

// A real S3 server on this machine: Cloudflare's R2 as it runs for developers. It checks signatures, ranges and
// Content-MD5; it keeps objects in a directory, so that it can be stopped and started again. Where the environment names
// another store, as `npm run test:ceph` does, that one is used.

export const credentials = {
  accessKeyId: process.env.TEST_S3_ACCESS_KEY_ID ?? 'test-key',
  secretAccessKey: process.env.TEST_S3_SECRET_ACCESS_KEY ?? 'test-secret',
}

export type TestStore = {
  name: string
  /** A bucket that nobody else uses. */
  bucket(): S3Settings
  /** The wrong bytes that it is known to refuse. */
  enforced: Enforced
  /** Undefined where others run it. */
  process?: StoreProcess
  close(): Promise<void>
}

export type StoreProcess = {
  port: number
  /** Ends it without a warning; its objects stay. */
  kill(): Promise<void>
  /** Starts it again, at the same address. */
  start(): Promise<void>
}

export function startStore(buckets = 16): Promise<TestStore> {
  const endpoint = process.env.TEST_S3_ENDPOINT
  return endpoint === undefined ? startMiniflare(buckets) : useStore(endpoint, buckets)
}

/** A store that others have started: it gets buckets for us, which go with all that is in them. */
async function useStore(endpoint: string, count: number): Promise<TestStore> {
  const mark = randomBytes(4).toString('hex')
  const all = Array.from({ length: count }, (_, index) => ({
    bucket: `bucket-${mark}-${index + 1}`,
    endpoint,
    region: process.env.TEST_S3_REGION ?? 'us-east-1',
    forcePathStyle: true,
    credentials,
  }))
  for (const settings of all) await askBucket(settings, 'PUT')
  const unused = [...all]
  return {
    name: process.env.TEST_S3_NAME ?? 'the store',
    bucket() {
      const settings = unused.pop()
      if (!settings) throw new Error('the store has too few buckets for this test')
      return settings
    },
    enforced: { bodySha256: true, checksumSha256: true, contentMd5: true },
    async close() {
      for (const settings of all) {
        await emptyBucket(settings)
        await askBucket(settings, 'DELETE')
      }
    },
  }
}

async function askBucket(settings: S3Settings, method: 'PUT' | 'DELETE'): Promise<void> {
  const client = await openClient(settings)
  await client.send({ method }).finally(() => client.close())
}

async function emptyBucket(settings: S3Settings): Promise<void> {
  const storage = await openS3(settings)
  for (let found = await objectsOf(settings); found.length > 0; found = await objectsOf(settings))
    await storage.remove(found)
  storage.close()
}

export async function startMiniflare(buckets: number): Promise<Required<TestStore>> {
  const dir = await mkdtemp(join(tmpdir(), 'tapedeck-s3-'))
  const names = Array.from({ length: buckets }, (_, index) => `bucket-${index + 1}`)
  const unused = [...names]
  const [port = 0] = await freePorts(1)
  let server = openServer(dir, port, names)
  const endpoint = new URL('/cdn-cgi/local/r2/s3', await server.ready).href
  return {
    name: 'Miniflare',
    bucket() {
      const bucket = unused.pop()
      if (!bucket) throw new Error('the store was started with too few buckets')
      return { bucket, endpoint, region: 'auto', forcePathStyle: true, credentials }
    },
    enforced: { bodySha256: true, checksumSha256: false, contentMd5: true },
    process: {
      port,
      async kill() {
        kill(...childrenOf(process.pid).filter(isServer))
        await server.dispose()
      },
      async start() {
        server = openServer(dir, port, names)
        await server.ready
      },
    },
    async close() {
      await server.dispose()
      await rm(dir, { recursive: true, force: true })
    },
  }
}

function openServer(dir: string, port: number, names: string[]): Miniflare {
  return new Miniflare({
    modules: true,
    script: 'export default { fetch: () => new Response(null, { status: 404 }) }',
    host: '127.0.0.1',
    port,
    r2Persist: dir,
    r2Buckets: Object.fromEntries(
      names.map((id) => [id.replace('-', '_'), { id, s3Credentials: credentials }]),
    ),
  })
}

/** The program that a Miniflare has started. */
function isServer(pid: number): boolean {
  return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('workerd')
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
  const all: string[] = []
  try {
    for (let more: Record<string, string> | undefined = {}; more; ) {
      const { body } = await client.send({ method: 'GET', query: { 'list-type': '2', prefix, ...more } })
      const page = body.toString()
      all.push(...elementsOf(page, 'Contents').map((entry) => textOf(entry, 'Key') ?? ''))
      const token = textOf(page, 'NextContinuationToken')
      more = token === undefined ? undefined : { 'continuation-token': token }
    }
    return all
  } finally {
    client.close()
  }
}
