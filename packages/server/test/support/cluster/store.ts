import type { S3Settings } from '../../../src/storage/s3/client.ts'
import { undoAfter } from '../../embedded/undo.ts'
import type { Ending } from '../ending.ts'
import { type StoreProcess, startMiniflare } from '../s3.ts'
import { openTcpProxy, type TcpProxy } from './tcp-proxy.ts'

// The S3 server as somebody else's: reached over a network, and mortal.

export type StoreServer = StoreProcess & {
  /** The way that all nodes take. */
  network: TcpProxy
  /** A bucket that nobody else uses, by the address that nodes are given. */
  bucket(): S3Settings
}

export async function startStoreServer(t: Ending, buckets: number): Promise<StoreServer> {
  const store = await startMiniflare(buckets)
  undoAfter(t, () => store.close())
  const network = await openTcpProxy(t, [store.process.port])
  return {
    ...store.process,
    network,
    bucket() {
      const settings = store.bucket()
      const endpoint = new URL(settings.endpoint)
      endpoint.port = String(network.port)
      return { ...settings, endpoint: endpoint.href }
    },
  }
}
