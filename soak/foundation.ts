import type { S3Settings } from '../packages/server/src/storage/s3/client.ts'
import { undoAfter } from '../packages/server/test/embedded/undo.ts'
import { type PostgresServer, startPostgresServer } from '../packages/server/test/support/cluster/postgres.ts'
import type { Ending } from '../packages/server/test/support/ending.ts'
import { startStore, type TestStore } from '../packages/server/test/support/s3.ts'

/** What others operate for the service: PostgreSQL over TCP and an S3-compatible store, the one that the environment names if it does. */
export type Foundation = {
  postgres: PostgresServer
  store: TestStore
  /** Past whatever stands before them. */
  databaseUrl: string
  bucket: S3Settings
}

export async function openFoundation(t: Ending): Promise<Foundation> {
  const [postgres, store] = await Promise.all([startPostgresServer(t), startStore(1)])
  undoAfter(t, () => store.close())
  return {
    postgres,
    store,
    databaseUrl: await postgres.createDatabase(),
    bucket: store.bucket(),
  }
}
