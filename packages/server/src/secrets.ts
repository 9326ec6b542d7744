import {
  createCipheriv,
  createDecipheriv,
  createSecretKey,
  hkdfSync,
  type KeyObject,
  randomBytes,
} from 'node:crypto'

/** The keys that the service derives from its one secret, each for one use. */
export type Secrets = {
  /** Prepared: it signs thousands of URLs for one answer. */
  uploadUrls: KeyObject
  cursors: Buffer
  responses: Buffer
  webhookSecrets: Buffer
  accounts: Buffer
}

export function deriveSecrets(secret: string): Secrets {
  const derive = (use: string) => Buffer.from(hkdfSync('sha256', secret, 'tapedeck', use, 32))
  return {
    uploadUrls: createSecretKey(derive('upload-url')),
    cursors: derive('cursor'),
    responses: derive('response'),
    webhookSecrets: derive('webhook-secret'),
    accounts: derive('accounts'),
  }
}

const NONCE_BYTES = 12
const TAG_BYTES = 16

/** AES-256-GCM: nonce, tag, ciphertext. `context` is bound to it, so that one row cannot stand in for another. */
export function encrypt(key: Buffer, plain: string, context: string): Buffer {
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(context))
  const body = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()])
  return Buffer.concat([nonce, cipher.getAuthTag(), body])
}

export function decrypt(key: Buffer, sealed: Buffer, context: string): string {
  const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, NONCE_BYTES))
  decipher.setAAD(Buffer.from(context)).setAuthTag(sealed.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES))
  return decipher.update(sealed.subarray(NONCE_BYTES + TAG_BYTES), undefined, 'utf8') + decipher.final('utf8')
}
