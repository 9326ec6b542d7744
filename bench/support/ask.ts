import { openConnection } from './connection.ts'
import { quantile } from './rounds.ts'

export type Asked = { perSecond: number; p50Ms: number; p99Ms: number; loadCpu: number }

/** Keeps every connection busy with one request after the other until the signal comes. */
export async function ask(
  url: string,
  connections: number,
  until: AbortSignal,
  nextRequest: () => Buffer,
): Promise<Asked> {
  const open = await Promise.all(Array.from({ length: connections }, () => openConnection(url)))
  const latenciesMs: number[] = []
  const startCpu = process.cpuUsage()
  const startMs = performance.now()
  await Promise.all(
    open.map(async (connection) => {
      while (!until.aborted) {
        const sentMs = performance.now()
        await connection.send(nextRequest())
        latenciesMs.push(performance.now() - sentMs)
      }
    }),
  )
  const tookMs = performance.now() - startMs
  const { user, system } = process.cpuUsage(startCpu)
  for (const connection of open) connection.close()
  return {
    perSecond: (latenciesMs.length / tookMs) * 1000,
    p50Ms: quantile(latenciesMs, 0.5),
    p99Ms: quantile(latenciesMs, 0.99),
    // Of one core: near 1 the load itself is the limit.
    loadCpu: (user + system) / 1000 / tookMs,
  }
}
