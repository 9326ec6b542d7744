/** An S3-compatible store that runs on this machine until it is stopped. */
export type Store = {
  name: string
  endpoint: string
  region: string
  accessKeyId: string
  secretAccessKey: string
  stop(): Promise<void>
}

/** How the tests and benches are told of it. */
export function storeEnv(store: Store): Record<string, string> {
  return {
    TEST_S3_ENDPOINT: store.endpoint,
    TEST_S3_REGION: store.region,
    TEST_S3_NAME: store.name,
    TEST_S3_ACCESS_KEY_ID: store.accessKeyId,
    TEST_S3_SECRET_ACCESS_KEY: store.secretAccessKey,
  }
}
