import { once } from 'node:events'
import { createServer } from 'node:http'
import type { Stage } from '../bench/support/stage.ts'
import { verifyWebhook } from '../packages/sdk/src/index.ts'
import type { Chance } from './chance.ts'
import type { Ledger } from './ledger.ts'

const REFUSES = 0.1

export type Receiver = { url: string; expect(secret: string): void }

/** Takes webhooks, checks their signatures, and refuses some of them: those must come again. */
export async function startReceiver(stage: Stage, chance: Chance, ledger: Ledger): Promise<Receiver> {
  let secret = ''
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    if (chance.next() < REFUSES) return void response.writeHead(500).end()
    try {
      const header = String(request.headers['service-signature'])
      const { id } = await verifyWebhook(Buffer.concat(chunks), header, secret)
      ledger.events.set(id, (ledger.events.get(id) ?? 0) + 1)
      response.end()
    } catch (error) {
      ledger.surprises.push(`webhook: ${error instanceof Error ? error.message : String(error)}`)
      response.writeHead(400).end()
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  stage.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const address = server.address()
  if (typeof address !== 'object' || !address) throw new Error('the receiver has no port')
  return {
    url: `http://127.0.0.1:${address.port}/hook`,
    expect(shown) {
      secret = shown
    },
  }
}
