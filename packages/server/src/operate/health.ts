import type { FastifyInstance } from 'fastify'
import { sql } from 'kysely'
import type { Db } from '../db/database.ts'
import type { Storage } from '../storage/storage.ts'
import type { Metrics } from './metrics.ts'

type Deps = { db: Db; storage: Storage; metrics: Metrics }

const CHECK_TIMEOUT_MS = 5_000

/** `/healthz`: the process answers. `/readyz`: database and storage were really tried. `/metrics`: Prometheus. */
export function registerHealth(app: FastifyInstance, { db, storage, metrics }: Deps): void {
  app.get('/healthz', async () => ({ status: 'ok' }))
  app.get('/readyz', async (request, reply) => {
    const checks = {
      database: await tried(
        () => sql`update nodes set seen_at = seen_at where false`.execute(db),
        request.log.warn.bind(request.log),
      ),
      storage: await tried(() => storage.probe(), request.log.warn.bind(request.log)),
    }
    const ready = checks.database === 'ok' && checks.storage === 'ok'
    return reply.code(ready ? 200 : 503).send({ status: ready ? 'ok' : 'unavailable', checks })
  })
  app.get('/metrics', async (_request, reply) => reply.type(metrics.contentType).send(await metrics.text()))
}

/** The answer says only whether; the log says why. */
async function tried(
  check: () => Promise<unknown>,
  warn: (details: object, message: string) => void,
): Promise<'ok' | 'unavailable'> {
  const timeout = AbortSignal.timeout(CHECK_TIMEOUT_MS)
  const late = new Promise<never>((_, reject) =>
    timeout.addEventListener('abort', () => reject(timeout.reason)),
  )
  try {
    await Promise.race([check(), late])
    return 'ok'
  } catch (err) {
    warn({ err }, 'not ready')
    return 'unavailable'
  }
}
