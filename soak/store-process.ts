// node store-process.ts DIR PORT BUCKET KEY SECRET: a real S3 server with one bucket, as a process that can be killed.
import { Miniflare } from 'miniflare'

const [dir = '', port = '', bucket = '', accessKeyId = '', secretAccessKey = ''] = process.argv.slice(2)
const server = new Miniflare({
  modules: true,
  script: 'export default { fetch: () => new Response(null, { status: 404 }) }',
  host: '127.0.0.1',
  port: Number(port),
  r2Persist: dir,
  r2Buckets: { bucket: { id: bucket, s3Credentials: { accessKeyId, secretAccessKey } } },
})
const endpoint = new URL('/cdn-cgi/local/r2/s3', await server.ready)
process.stdout.write(`ready at ${endpoint.href}\n`)

// A run that was killed could not end us.
const parent = process.ppid
setInterval(() => {
  if (process.ppid !== parent) process.kill(-process.pid, 'SIGKILL')
}, 500)
