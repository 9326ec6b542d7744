import pg from 'pg'
import type { Connection } from './database.ts'

const RECONNECT_MS = 1_000
/** Silent for most of its life: a server that is gone without a word has to be asked for. */
const KEEP_ALIVE_MS = 10_000

/**
 * Hears the notices of a channel on a connection of its own. A lost connection is made again, and counts as a
 * notice without a payload: something may have been said meanwhile.
 */
export function listen(
  connection: Connection,
  channel: string,
  onNotice: (payload: string) => void,
  onError: (error: unknown) => void,
): { stop(): Promise<void> } {
  let stopped = false
  let client: pg.Client | undefined
  let retry: NodeJS.Timeout | undefined

  async function connect(): Promise<void> {
    const fresh = new pg.Client({
      ...connection,
      keepAlive: true,
      keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
      application_name: 'tapedeck listen',
    })
    client = fresh
    let lost = false
    const lose = (error?: Error) => {
      if (lost || stopped) return
      lost = true
      if (error) onError(error)
      retry = setTimeout(connect, RECONNECT_MS)
    }
    fresh
      .on('error', lose)
      .on('end', () => lose())
      .on('notification', ({ payload = '' }) => onNotice(payload))
    try {
      await fresh.connect()
      await fresh.query(`listen ${channel}`)
      onNotice('')
    } catch (error) {
      lose(error instanceof Error ? error : new Error(String(error)))
    }
  }

  void connect()
  return {
    async stop() {
      stopped = true
      clearTimeout(retry)
      await client?.end()
    },
  }
}
