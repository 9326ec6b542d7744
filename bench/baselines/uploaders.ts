// node uploaders.ts CLIENTS SESSIONS KEY URL …: so many clients, each with a connection of its own, upload one recording
// after the other; tells as JSON how it went.
import { hash } from 'node:crypto'
import { openChance } from '../../soak/chance.ts'
import { makeTable } from '../../soak/files.ts'
import { type Connection, openConnection, requestHead } from '../support/connection.ts'

export type Uploaded = { sessions: number; seconds: number; failures: string[] }

const [clients = '', sessions = '', key = '', ...urls] = process.argv.slice(2)
const chance = openChance(1)
const files = Array.from({ length: 32 }, () => makeTable(chance))
const uploaded: Uploaded = { sessions: 0, seconds: 0, failures: [] }
const numbers = Array.from({ length: Number(sessions) }, (_, number) => number).values()
const startMs = performance.now()

await Promise.all(
  Array.from({ length: Number(clients) }, async (_, client) => {
    const url = urls[client % urls.length] ?? ''
    const connection = await openConnection(url)
    for (const number of numbers) {
      try {
        await upload(connection, url, number)
        uploaded.sessions++
      } catch (error) {
        uploaded.failures.push(error instanceof Error ? error.message.slice(0, 300) : String(error))
      }
    }
    connection.close()
  }),
)
uploaded.seconds = (performance.now() - startMs) / 1000
process.stdout.write(`uploaded ${JSON.stringify(uploaded)}\n`)

async function upload(connection: Connection, url: string, number: number): Promise<void> {
  const bytes = files[number % files.length]
  if (!bytes) throw new Error('there are no files')
  const sha256 = hash('sha256', bytes, 'buffer')
  const created = await ask<{ id: string; upload: { parts: { url: string }[] } }>(
    connection,
    `${url}/v1/sessions`,
    { site: 'load', filename: `run-${number}.csv`, bytes: bytes.length, sha256: sha256.toString('hex') },
  )
  // Signed for the balancer; sent to the node that this client talks to.
  const signed = new URL(created.upload.parts[0]?.url ?? '')
  const checksum = { 'Content-Length': bytes.length, 'x-amz-checksum-sha256': sha256.toString('base64') }
  const put = requestHead('PUT', `${url}${signed.pathname}${signed.search}`, checksum)
  await connection.send(put, Buffer.from(bytes))
  const parts = [{ number: 1, etag: sha256.toString('hex') }]
  await ask(connection, `${url}/v1/sessions/${created.id}/complete`, { parts })
}

async function ask<T>(connection: Connection, url: string, body: object): Promise<T> {
  const text = Buffer.from(JSON.stringify(body))
  const headers = {
    Authorization: `Bearer ${key}`,
    'Content-Type': 'application/json',
    'Content-Length': text.length,
  }
  const answer = await connection.send(requestHead('POST', url, headers), text)
  return JSON.parse(answer.body.toString())
}
