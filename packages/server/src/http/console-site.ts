import { randomBytes } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { extname, join } from 'node:path'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { ApiError } from '../errors.ts'
import { type ConsoleAccess, clientOf } from './console-guard.ts'

// The pages of the console, as `npm start` has built them. They are few and small, and read into memory once: a build
// that replaces them does not pull them from under a service that is running.

type Deps = ConsoleAccess & { uploadUrl: () => string; dir: string }

type Asset = { type: string; plain: Buffer; gzip: Buffer | undefined }
type Site = { page: string | undefined; files: Map<string, Asset> }

const types: Record<string, string> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
  '.wasm': 'application/wasm',
}

const NONCE = '__NONCE__'

export function registerConsoleSite(app: FastifyInstance, deps: Deps): void {
  let loading: Promise<Site> | undefined
  const site = () => {
    loading ??= load(deps.dir).then((loaded) => {
      // Not built yet: looked for again.
      if (!loaded.page) loading = undefined
      return loaded
    })
    return loading
  }

  const servePage = async (reply: FastifyReply) => {
    deps.accounts.prepare()
    const { page } = await site()
    const nonce = randomBytes(16).toString('base64')
    return reply
      .headers(pageHeaders(nonce, new URL(deps.uploadUrl()).origin))
      .type('text/html; charset=utf-8')
      .send(page?.replaceAll(NONCE, nonce) ?? unbuilt)
  }

  app.get('/', async (_request, reply) => reply.redirect('/console'))
  app.get('/console', async (_request, reply) => servePage(reply))
  app.get('/console/*', async (request, reply) => {
    const [path = ''] = request.url.slice('/console/'.length).split('?')
    if (path.startsWith('api/'))
      throw new ApiError('route_unknown', `there is no GET /console/${path.slice(0, 200)}`)
    const { files } = await site()
    const file = files.get(path)
    if (file) return serveFile(reply, file, path, request.headers['accept-encoding'] ?? '')
    // A page of an older build asks for what is gone: that must not look like a script.
    if (extname(path) in types)
      throw new ApiError('route_unknown', 'this file belongs to another version of the console; reload')
    return servePage(reply)
  })
  app.get('/console/api/auth/callback/oidc', async (request, reply) => {
    const query = request.url.includes('?') ? request.url.slice(request.url.indexOf('?')) : ''
    const { location, cookies } = await deps.accounts.finishElsewhere(clientOf(request), query)
    return reply.header('Set-Cookie', cookies).header('Cache-Control', 'no-store').redirect(location)
  })
}

async function load(dir: string): Promise<Site> {
  const names = await readdir(dir, { recursive: true }).catch((): string[] => [])
  const files = new Map<string, Asset>()
  for (const name of names) {
    const type = types[extname(name)]
    if (!type) continue
    const gzip = names.includes(`${name}.gz`) ? await readFile(join(dir, `${name}.gz`)) : undefined
    files.set(name, { type, plain: await readFile(join(dir, name)), gzip })
  }
  return { page: await readFile(join(dir, 'index.html'), 'utf8').catch(() => undefined), files }
}

function serveFile(
  reply: FastifyReply,
  { type, plain, gzip }: Asset,
  path: string,
  accepted: string,
): FastifyReply {
  const compressed = /\bgzip\b/.test(accepted) ? gzip : undefined
  // Names in assets/ carry the hash of what they hold.
  reply.headers({
    'Cache-Control': path.startsWith('assets/') ? 'public, max-age=31536000, immutable' : 'no-cache',
    'X-Content-Type-Options': 'nosniff',
    Vary: 'Accept-Encoding',
    ...(compressed && { 'Content-Encoding': 'gzip' }),
  })
  return reply.type(type).send(compressed ?? plain)
}

/** Scripts from here alone, and none in the page itself. Styles that the components make carry the nonce. */
function pageHeaders(nonce: string, uploadOrigin: string): Record<string, string> {
  return {
    'Content-Security-Policy': [
      "default-src 'none'",
      // Files are hashed by WebAssembly, which compiles code that came from here.
      "script-src 'self' 'wasm-unsafe-eval'",
      `style-src 'self' 'nonce-${nonce}'`,
      "img-src 'self' data:",
      "font-src 'self'",
      `connect-src 'self' ${uploadOrigin}`,
      "worker-src 'self'",
      "base-uri 'none'",
      "form-action 'self'",
      "frame-ancestors 'none'",
    ].join('; '),
    'Cache-Control': 'no-store',
    'Referrer-Policy': 'same-origin',
    'X-Content-Type-Options': 'nosniff',
    'X-Frame-Options': 'DENY',
    'Cross-Origin-Opener-Policy': 'same-origin',
  }
}

const unbuilt = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Tapedeck</title>
<h1>The console is not built</h1><p>npm start builds it. The <a href="/docs">API</a> works without it.</p></html>`
