import { createHash, randomBytes } from 'node:crypto'
import type { CreatedSession } from '@tapedeck/contract'
import { openConnection, requestHead } from './connection.ts'
import { call, type Service } from './service.ts'

// A recording of any size that costs no time to make: one random block, repeated.

export const PART_BYTES = 64 * 2 ** 20

export type Recording = { block: Buffer; blockSha256: Buffer; parts: number; sha256: string; hashMs: number }

export function makeRecording(parts: number, block: Buffer = randomBytes(PART_BYTES)): Recording {
  const startMs = performance.now()
  const whole = createHash('sha256')
  for (let part = 0; part < parts; part++) whole.update(block)
  const sha256 = whole.digest('hex')
  const hashMs = performance.now() - startMs
  return { block, blockSha256: createHash('sha256').update(block).digest(), parts, sha256, hashMs }
}

export function createSession(
  service: Service,
  { block, parts, sha256 }: Recording,
): Promise<CreatedSession> {
  return call(service, 'POST', '/v1/sessions', {
    site: 'bench',
    filename: 'bench.bin',
    bytes: parts * block.length,
    sha256,
    part_size: block.length,
  })
}

/** Sends all parts of a session, so many at once. */
export async function uploadParts(
  session: CreatedSession,
  { block, blockSha256 }: Pick<Recording, 'block' | 'blockSha256'>,
  connections: number,
): Promise<void> {
  const headers = {
    'Content-Length': block.length,
    'x-amz-checksum-sha256': Buffer.from(blockSha256).toString('base64'),
  }
  const heads = session.upload.parts.map(({ url }) => requestHead('PUT', url, headers))
  await sendAll(session.upload.parts[0]?.url ?? '', connections, heads, (connection, head) =>
    connection.send(head, block),
  )
}

type Send<T> = (connection: Awaited<ReturnType<typeof openConnection>>, item: T) => Promise<unknown>

/** Works off the items over so many connections. */
export async function sendAll<T>(url: string, connections: number, items: T[], send: Send<T>): Promise<void> {
  const left = items.values()
  await Promise.all(
    Array.from({ length: connections }, async () => {
      const connection = await openConnection(url)
      for (const item of left) await send(connection, item)
      connection.close()
    }),
  )
}

export function completeSession(service: Service, session: CreatedSession, recording: Recording) {
  const etag = recording.blockSha256.toString('hex')
  const parts = session.upload.parts.map(({ number }) => ({ number, etag }))
  return call(service, 'POST', `/v1/sessions/${session.id}/complete`, { parts })
}
