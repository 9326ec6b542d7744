import { join } from 'node:path'
import { openDisk } from './disk.ts'
import type { S3Settings } from './s3/client.ts'
import type { Storage } from './storage.ts'

/** Plain data: threads are given it and open the storage for themselves. */
export type StorageSettings = { kind: 'disk'; root: string } | ({ kind: 's3' } & S3Settings)

export function storageSettings({
  dataDir,
  s3,
}: {
  dataDir: string
  s3: S3Settings | undefined
}): StorageSettings {
  return s3 ? { kind: 's3', ...s3 } : { kind: 'disk', root: join(dataDir, 'recordings') }
}

export async function openStorage(settings: StorageSettings): Promise<Storage> {
  if (settings.kind === 'disk') return openDisk(settings.root)
  // Whoever keeps recordings on a disk needs none of it.
  const { openS3 } = await import('./s3/store.ts')
  return openS3(settings)
}
