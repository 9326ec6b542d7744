import { openDisk } from './disk.ts'
import type { S3Settings } from './s3/client.ts'
import type { Storage } from './storage.ts'

/** Plain data: threads are given it and open the storage for themselves. */
export type StorageSettings = { kind: 'disk'; root: string } | ({ kind: 's3' } & S3Settings)

export async function openStorage(settings: StorageSettings): Promise<Storage> {
  if (settings.kind === 'disk') return openDisk(settings.root)
  // Whoever keeps recordings on a disk needs none of it.
  const { openS3 } = await import('./s3/store.ts')
  return openS3(settings)
}
