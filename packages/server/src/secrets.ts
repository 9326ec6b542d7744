import {
  createCipheriv,
  createDecipheriv,
  createSecretKey,
  hkdfSync,
  type KeyObject,
  randomBytes,
} from 'node:crypto'

/**
 * The secret of the service. While it is exchanged there is one more: what was signed or encrypted with that is accepted
 * and read, but nothing is made with it.
 */
export type SecretSettings = {
  current: string
  /** Will be the current one: other nodes may be using it already. */
  next: string | undefined
  /** Was the current one: what is kept under it is moved to the current one. */
  previous: string | undefined
}

/** The first signs and encrypts; all of them are accepted and read. */
export type Keys<Key = Buffer> = readonly [Key, ...Key[]]

/** The keys that the service derives from its secret, each for one use. */
export type Secrets = {
  /** Prepared: it signs thousands of URLs for one answer. */
  uploadUrls: Keys<KeyObject>
  cursors: Keys
  responses: Keys
  webhookSecrets: Keys
  accounts: Keys
  /** Names of the secrets, by which nodes compare theirs. */
  fingerprints: Keys<string>
  /** That of the previous one. */
  previousFingerprint: string | undefined
}

export function deriveSecrets({ current, next, previous }: SecretSettings): Secrets {
  const others = [next, previous].filter((secret) => secret !== undefined)
  const keysFor = <Key>(use: string, toKey: (derived: Buffer) => Key): Keys<Key> => {
    const derive = (secret: string) => toKey(Buffer.from(hkdfSync('sha256', secret, 'tapedeck', use, 32)))
    return [derive(current), ...others.map(derive)]
  }
  const asIs = (derived: Buffer) => derived
  const fingerprints = keysFor('fingerprint', (derived) => derived.toString('hex', 0, 16))
  return {
    uploadUrls: keysFor('upload-url', createSecretKey),
    cursors: keysFor('cursor', asIs),
    responses: keysFor('response', asIs),
    webhookSecrets: keysFor('webhook-secret', asIs),
    accounts: keysFor('accounts', asIs),
    fingerprints,
    previousFingerprint: previous === undefined ? undefined : fingerprints.at(-1),
  }
}

const NONCE_BYTES = 12
const TAG_BYTES = 16

/** AES-256-GCM: nonce, tag, ciphertext. `context` is bound to it, so that one row cannot stand in for another. */
export function encrypt([key]: Keys, plain: string, context: string): Buffer {
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(context))
  const body = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()])
  return Buffer.concat([nonce, cipher.getAuthTag(), body])
}

export function decrypt(keys: Keys, sealed: Buffer, context: string): string {
  for (const key of keys) {
    const plain = open(key, sealed, context)
    if (plain !== undefined) return plain
  }
  throw new Error(
    'what is stored was encrypted with a secret that is neither the current nor an accepted one',
  )
}

/** The same under the first key, where it is under another that we know. */
export function moveToFirst(keys: Keys, sealed: Buffer, context: string): Buffer | undefined {
  const [first, ...others] = keys
  if (open(first, sealed, context) !== undefined) return undefined
  const plain = others.map((key) => open(key, sealed, context)).find((found) => found !== undefined)
  return plain === undefined ? undefined : encrypt(keys, plain, context)
}

/** Undefined for another key, another context, or other bytes. */
function open(key: Buffer, sealed: Buffer, context: string): string | undefined {
  try {
    const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, NONCE_BYTES))
    decipher.setAAD(Buffer.from(context)).setAuthTag(sealed.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES))
    return (
      decipher.update(sealed.subarray(NONCE_BYTES + TAG_BYTES), undefined, 'utf8') + decipher.final('utf8')
    )
  } catch {
    return undefined
  }
}
