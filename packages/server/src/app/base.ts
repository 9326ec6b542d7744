import type { FastifyBaseLogger } from 'fastify'
import type { CreatedKey } from '../access/keys.ts'
import type { Clock } from '../clock.ts'
import type { Config } from '../config.ts'
import type { Connection, Db } from '../db/database.ts'
import type { Node } from '../db/nodes.ts'
import type { LoadLimits } from '../http/load.ts'
import type { Patience } from '../http/server.ts'
import type { Jobs } from '../jobs/jobs.ts'
import type { Pace } from '../operate/collector.ts'
import type { Metrics } from '../operate/metrics.ts'
import type { ScanLimits } from '../processing/scan.ts'
import type { Secrets } from '../secrets.ts'
import type { StorageSettings } from '../storage/open.ts'
import type { Storage } from '../storage/storage.ts'
import type { Announcer } from '../webhooks/plan.ts'
import type { Resolve, Targets } from '../webhooks/target.ts'

export type Served = {
  addresses: Addresses
  /** Made on the very first start, and known only now. */
  firstKey: CreatedKey | undefined
  /** Makes the first account; there until somebody has used it. */
  firstLink: string | undefined
}

export type Addresses = { baseUrl: string; uploadUrl: string; consoleUrl: string }

/** What a test may set. */
export type Overrides = {
  resolve?: Resolve
  scanLimits?: Partial<ScanLimits>
  clock?: Clock
  uploadIdleMs?: number
  loadLimits?: Partial<LoadLimits>
  patience?: Partial<Patience>
  intakeThreads?: number
  collectPace?: Partial<Pace>
}

/** What every role stands on. */
export type Base = {
  config: Config
  overrides: Overrides
  log: FastifyBaseLogger
  onError: (error: unknown) => void
  onLost: (error: Error, sessionId: string) => void
  clock: Clock
  /** What has to be ended, the last first. */
  closers: (() => Promise<unknown>)[]
  db: Db
  connection: Connection
  node: Node
  secrets: Secrets
  storageSettings: StorageSettings
  storage: Storage
  jobs: Jobs
  announcer: Announcer
  targets: Targets
  metrics: Metrics
}
