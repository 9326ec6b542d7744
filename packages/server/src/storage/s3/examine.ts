import { hash, randomBytes } from 'node:crypto'
import { newNonce } from '../../ids.ts'
import { isPassing, openClient, Refused, type S3Settings } from './client.ts'
import { checksumHeaders, PROBES, UNSIGNED } from './store.ts'

/** Which wrong bytes the store itself refuses. None of it is needed: every byte is hashed on our side. */
export type Enforced = { bodySha256: boolean; checksumSha256: boolean; contentMd5: boolean }

type Said = { bodySha256?: string; headers?: Record<string, string> }

const PROBE = Buffer.from('probe')

/**
 * Sends small wrong objects and looks what the store makes of them. `undefined`: it does not answer now. A store that
 * refuses the right object too is configured wrongly, which is an error.
 */
export async function examine(settings: S3Settings): Promise<Enforced | undefined> {
  const client = await openClient(settings)
  const key = `${PROBES}${newNonce()}`
  const wrong = randomBytes(32).toString('hex')
  const put = async (said: Said) => {
    const answer = await client.try({ method: 'PUT', key, body: PROBE, ...said })
    if (isPassing(answer.status)) throw new Busy()
    return answer
  }
  const isRefused = async (said: Said) => (await put(said)).status >= 400
  try {
    const right = await put({})
    if (right.status >= 300) throw new Refused(`to write to the bucket ${settings.bucket}`, right)
    return {
      bodySha256: await isRefused({ bodySha256: wrong }),
      checksumSha256: await comparesChecksums(isRefused),
      contentMd5: await isRefused({
        headers: { 'content-md5': Buffer.from(wrong.slice(0, 32), 'hex').toString('base64') },
      }),
    }
  } catch (error) {
    if (error instanceof Refused) throw error
    return undefined
  } finally {
    await client.send({ method: 'DELETE', key }).catch(() => {})
    client.close()
  }
}

/** As parts are sent to a store that does: it has to take the right ones, and no others. */
async function comparesChecksums(isRefused: (said: Said) => Promise<boolean>): Promise<boolean> {
  const unsigned = (sha256: string) => ({ bodySha256: UNSIGNED, headers: checksumHeaders(sha256) })
  if (await isRefused(unsigned(hash('sha256', PROBE)))) return false
  return isRefused(unsigned(hash('sha256', 'something else')))
}

class Busy extends Error {}
