import { randomBytes } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Stage } from '../bench/support/stage.ts'
import { openClient, type S3Settings } from '../packages/server/src/storage/s3/client.ts'
import { elementsOf, textOf } from '../packages/server/src/storage/s3/xml.ts'
import { freePorts } from '../scripts/free-ports.ts'
import { type Supervised, supervise } from './supervised.ts'

export type ObjectStore = {
  name: string
  settings: S3Settings & { credentials: { accessKeyId: string; secretAccessKey: string } }
  /** Undefined where others run it. */
  process: Supervised | undefined
}

/** The store that the environment names, as `npm run test:ceph` does, or one of our own. */
export function openObjectStore(stage: Stage): Promise<ObjectStore> {
  const endpoint = process.env.TEST_S3_ENDPOINT
  return endpoint === undefined ? startMiniflare(stage) : useStore(endpoint)
}

async function useStore(endpoint: string): Promise<ObjectStore> {
  const settings = {
    bucket: `tapedeck-${randomBytes(4).toString('hex')}`,
    endpoint,
    region: process.env.TEST_S3_REGION ?? 'us-east-1',
    forcePathStyle: true,
    credentials: {
      accessKeyId: process.env.TEST_S3_ACCESS_KEY_ID ?? '',
      secretAccessKey: process.env.TEST_S3_SECRET_ACCESS_KEY ?? '',
    },
  }
  const client = await openClient(settings)
  await client.send({ method: 'PUT' })
  client.close()
  return { name: process.env.TEST_S3_NAME ?? 'the store', settings, process: undefined }
}

async function startMiniflare(stage: Stage): Promise<ObjectStore> {
  const dir = join(stage.dir, 'objects')
  await mkdir(dir)
  const [port = 0] = await freePorts(1)
  const credentials = { accessKeyId: 'soak-key', secretAccessKey: 'soak-secret' }
  const bucket = 'recordings'
  const script = fileURLToPath(new URL('store-process.ts', import.meta.url))
  const running = supervise(stage, {
    name: 'store',
    args: [script, dir, String(port), bucket, credentials.accessKeyId, credentials.secretAccessKey],
    env: {},
    readyWhen: /ready at (\S+)\n/,
    onLine() {},
    asGroup: true,
  })
  const [endpoint = ''] = await running.ready()
  return {
    name: 'Miniflare',
    settings: { bucket, endpoint, region: 'auto', forcePathStyle: true, credentials },
    process: running,
  }
}

/** Every object of a bucket. */
export async function listObjects(bucket: S3Settings): Promise<string[]> {
  const client = await openClient(bucket)
  const all: string[] = []
  for (let token: string | undefined = ''; token !== undefined; ) {
    const query: Record<string, string> = {
      'list-type': '2',
      ...(token !== '' && { 'continuation-token': token }),
    }
    const xml = (await client.send({ method: 'GET', query })).body.toString()
    all.push(...elementsOf(xml, 'Contents').map((entry) => textOf(entry, 'Key') ?? ''))
    token = textOf(xml, 'IsTruncated') === 'true' ? textOf(xml, 'NextContinuationToken') : undefined
  }
  client.close()
  return all
}
