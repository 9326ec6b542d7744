import { createHmac } from 'node:crypto'

/** The value of `Service-Signature` over the exact body, one `v1` for each secret that is valid now. */
export function sign(body: string, secrets: string[], nowMs: number): string {
  const time = Math.floor(nowMs / 1000)
  const digests = secrets.map((secret) =>
    createHmac('sha256', secret).update(`${time}.${body}`).digest('hex'),
  )
  return [`t=${time}`, ...digests.map((digest) => `v1=${digest}`)].join(',')
}
