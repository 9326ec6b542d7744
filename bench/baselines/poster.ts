// The ceiling of a delivery: bare POSTs by undici, each body signed as the service signs it.
import { Agent, request } from 'undici'
import { sign } from '../../packages/server/src/webhooks/sign.ts'

const [url = '', count = '', connections = '', body = ''] = process.argv.slice(2)
const dispatcher = new Agent({ connections: Number(connections), pipelining: 1 })
const secrets = [`whsec_${'x'.repeat(32)}`]
let left = Number(count)

const startMs = performance.now()
await Promise.all(Array.from({ length: Number(connections) }, postAll))
process.stdout.write(`took ${performance.now() - startMs} ms\n`)
await dispatcher.close()
process.disconnect()

async function postAll(): Promise<void> {
  while (left-- > 0) {
    const headers = {
      'Content-Type': 'application/json',
      'Service-Signature': sign(body, secrets, Date.now()),
    }
    const answer = await request(url, { dispatcher, method: 'POST', headers, body })
    if (answer.statusCode !== 200) throw new Error(`the receiver answered ${answer.statusCode}`)
    await answer.body.dump()
  }
}
