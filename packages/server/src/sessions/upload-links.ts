import type { KeyObject } from 'node:crypto'
import type { Clock } from '../clock.ts'
import { type PartAddress, signPart } from '../storage/signed-url.ts'

export type UploadLinks = {
  /** Signs from now on; all links made by one call expire together. */
  issue(sessionId: string): { expiresAt: string; urlOf(number: number): string }
}

type Settings = { uploadUrl: () => string; key: KeyObject; ttlS: number; clock: Clock }

export function openUploadLinks({ uploadUrl, key, ttlS, clock }: Settings): UploadLinks {
  return {
    issue(sessionId) {
      const expiresS = Math.ceil(clock.now() / 1000) + ttlS
      const base = uploadUrl()
      return {
        expiresAt: new Date(expiresS * 1000).toISOString(),
        urlOf(number) {
          const address: PartAddress = { sessionId, number, expiresS }
          return `${base}/upload/${sessionId}/${number}?expires=${expiresS}&signature=${signPart(key, address)}`
        },
      }
    },
  }
}
