// The ceiling of an upload: node:http that hashes a part, writes it to a file and syncs it before it answers.
import { createHash } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { basename, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { announce } from './announce.ts'

const dir = process.argv[2] ?? ''
const BUFFER_BYTES = 2 ** 20

announce(createServer((request, response) => void receive(request, response)))

async function receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const hash = createHash('sha256')
  request.on('data', (chunk: Buffer) => hash.update(chunk))
  const file = createWriteStream(join(dir, basename(request.url ?? '')), {
    highWaterMark: BUFFER_BYTES,
    flush: true,
  })
  await pipeline(request, file)
  const right = hash.digest('base64') === request.headers['x-amz-checksum-sha256']
  response.writeHead(right ? 200 : 400, { 'Content-Length': 0 }).end()
}
