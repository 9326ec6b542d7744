import assert from 'node:assert/strict'
import { imuTable } from '../imu-table.ts'
import { type Client, fileOf, planUpload, prepareFile, steadyClient, type Upload } from '../steady-client.ts'
import type { Acknowledged } from './aftermath.ts'
import type { Cluster } from './cluster.ts'

// Clients that upload at once and do not give up, and a count of what they were told.

export type Load = {
  client: Client
  /** How often clients met what. */
  outages: Map<string, number>
  /** Resolves when so many requests have been acknowledged in all. */
  acknowledgements(count: number): Promise<void>
  /** Uploads so many recordings at once, each to its end. */
  carry(count: number, name: string): Promise<Upload[]>
}

/** Noise in two parts, of which nothing can be read, and tables that can. */
const files = [prepareFile(2, 11), fileOf('imu0.csv', imuTable(4000)), fileOf('imu1.csv', imuTable(5000))]

export function openLoad(cluster: Cluster, { mayBreak }: { mayBreak: boolean }, signal = never()): Load {
  const outages = new Map<string, number>()
  const waiting = new Set<() => void>()
  let acknowledged = 0
  const client = steadyClient({
    where: async () => cluster,
    mayBreak,
    mayBeClaimed: true,
    signal,
    onAcknowledged() {
      acknowledged++
      for (const look of waiting) look()
    },
    onOutage: (code) => outages.set(code, (outages.get(code) ?? 0) + 1),
  })
  let failed: Promise<never> = new Promise(() => {})
  return {
    client,
    outages,
    acknowledgements(count) {
      const enough = new Promise<void>((resolve) => {
        const look = () => {
          if (acknowledged >= count) resolve()
        }
        waiting.add(look)
        look()
      })
      // A client that fails says more than a moment that never comes.
      return Promise.race([enough, failed])
    },
    carry(count, name) {
      const uploads = Array.from({ length: count }, (_, index) =>
        planUpload(files[index % files.length] ?? assert.fail(), `${name} ${index}`, index % 2 === 0),
      )
      const carried = Promise.all(uploads.map((upload) => client.carry(upload)))
      failed = new Promise((_, reject) => carried.catch(reject))
      failed.catch(() => {}) // heard by whoever waits for the uploads
      return carried.then(() => uploads)
    },
  }
}

/** What the service owes for an upload that was acknowledged to its end. */
export function acknowledgedOf({ acknowledged, file }: Upload): Acknowledged {
  const status = file.name.endsWith('.csv') ? 'processed' : 'failed'
  return { id: acknowledged.id ?? assert.fail(), sha256: file.sha256, status }
}

function never(): AbortSignal {
  return new AbortController().signal
}
