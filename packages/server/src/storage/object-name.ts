import { isId, newNonce } from '../ids.ts'
import type { NewPart } from './storage.ts'

// sessions/<shard>/<session>/<number>-<sha256>-<nonce>: named by content, with a nonce so that the same part sent twice
// at once never shares an object.

export function newObjectName({ sessionId, number, sha256 }: NewPart): string {
  return `${folderOf(sessionId)}${String(number).padStart(5, '0')}-${sha256}-${newNonce()}`
}

const NAME = /^sessions\/[^/]+\/([^/]+)\/(\d{5})-[0-9a-f]{64}-[0-9a-v]{16}$/

/** Which part an object was kept for; nothing where the name is not one of ours. */
export function partOf(object: string): { sessionId: string; number: number } | undefined {
  const [, sessionId = '', number = ''] = NAME.exec(object) ?? []
  const isOurs = isId('ses', sessionId) && object.startsWith(folderOf(sessionId))
  return isOurs ? { sessionId, number: Number(number) } : undefined
}

/** Ends with a slash: no session's folder is the beginning of another's. */
export function folderOf(sessionId: string): string {
  // The last characters of an id are random: folders fill evenly.
  return `sessions/${sessionId.slice(-2)}/${sessionId}/`
}
