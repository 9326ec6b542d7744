import type { IncomingMessage } from 'node:http'
import { MAX_BODY_BYTES } from '@tapedeck/contract'
import Fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyRequest,
  LogController,
} from 'fastify'
import type { Callers } from '../access/caller.ts'
import type { Db } from '../db/database.ts'
import type { Node } from '../db/nodes.ts'
import { ApiError } from '../errors.ts'
import { newRequestId } from '../ids.ts'
import type { Metrics } from '../operate/metrics.ts'
import type { Keys } from '../secrets.ts'
import { ClientGone } from '../storage/pump.ts'
import type { ConsoleAccess } from './console-guard.ts'
import { allowContinue, answerContinueOurselves } from './continue.ts'
import { allowOrigins, isPreflight } from './cors.ts'
import { guard } from './guard.ts'
import { handle } from './handle.ts'
import { parseJson } from './json-body.ts'
import { lingerAfter } from './linger.ts'
import type { Load } from './load.ts'
import { answerMalformed, noteExchange } from './malformed.ts'
import type { Operation } from './operation.ts'
import { addressBucket, type RateLimit } from './rate-limit.ts'
import { respondWithError } from './respond.ts'
import { registerUpload, type UploadDeps } from './upload.ts'

export type ServerDeps = UploadDeps & {
  db: Db
  node: Node
  callers: Callers
  consoleAccess: ConsoleAccess
  rateLimit: RateLimit
  load: Load
  metrics: Metrics
  log: FastifyBaseLogger
  responseKeys: Keys
  corsOrigins: string[]
  trustedProxies: string[]
  operations: Operation[]
  patience: Patience
}

/** How long a client may take, and how many may be there. */
export type Patience = { headMs: number; bodyMs: number; connections: number }

export const defaultPatience: Patience = {
  headMs: 20_000,
  bodyMs: 60_000,
  // Idle ones cost little, but the system's files are not endless, and the database and the store need some.
  connections: 15_000,
}

const KEEP_ALIVE_MS = 75_000
const MAX_HEAD_BYTES = 16 * 2 ** 10
const DROPS_TOLD_EVERY_MS = 60_000

/** The HTTP server with the API and the upload endpoint; pages and health are added by the composition root. */
export function buildServer(deps: ServerDeps): FastifyInstance {
  const { patience } = deps
  const app = Fastify({
    loggerInstance: deps.log,
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: newRequestId,
    requestIdHeader: false,
    trustProxy: deps.trustedProxies,
    bodyLimit: MAX_BODY_BYTES,
    keepAliveTimeout: KEEP_ALIVE_MS,
    // A part takes as long as its client needs; silence is what ends it.
    requestTimeout: 0,
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    exposeHeadRoutes: false,
    routerOptions: { maxParamLength: 512, querystringParser: () => ({}) },
    http: { ...headLimits(patience), requireHostHeader: false },
    clientErrorHandler: (error, socket) => void answerMalformed(error, socket, deps.rateLimit),
    frameworkErrors: async (error, request, reply) => {
      reply.header('Request-Id', request.id)
      await deps.rateLimit.show(addressBucket(request.ip), reply)
      respondWithError(error, request, reply)
    },
  })
  limitConnections(app, patience)
  answerContinueOurselves(app.server, (request, response) => app.routing(request, response))
  acceptOnlyJson(app)
  addRequestHooks(app, deps)
  app.setNotFoundHandler(async (request, reply) => {
    await deps.rateLimit.spend(addressBucket(request.ip), reply)
    throw new ApiError(
      'route_unknown',
      `there is no ${request.method} ${request.url.split('?')[0]?.slice(0, 200)}`,
    )
  })
  app.setErrorHandler((error, request, reply) => {
    // Nobody is there to read an answer.
    if (error instanceof ClientGone) return void reply.hijack().raw.destroy()
    lingerAfter(request, reply)
    return respondWithError(error, request, reply)
  })
  for (const operation of deps.operations) {
    app.route({
      method: operation.method,
      url: operation.path.replaceAll(/\{(\w+)\}/g, ':$1'),
      onRequest: guard(deps, operation.permission),
      handler: handle(deps, operation),
    })
  }
  registerUpload(app, deps)
  return app
}

/** For a node that answers nothing but how it is. */
export function buildHealthServer(log: FastifyBaseLogger): FastifyInstance {
  const app = Fastify({
    loggerInstance: log,
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: newRequestId,
    requestIdHeader: false,
    requestTimeout: defaultPatience.bodyMs,
    forceCloseConnections: true,
    http: headLimits(defaultPatience),
  })
  limitConnections(app, defaultPatience)
  app.addHook('onRequest', async (request, reply) => void reply.header('Request-Id', request.id))
  app.setNotFoundHandler(() => {
    throw new ApiError('route_unknown', 'this node works on jobs; the API is served by others')
  })
  app.setErrorHandler(respondWithError)
  return app
}

/** Node looks only every 30 s for heads that are late, unless it is told to look more often. */
function headLimits({ headMs }: Patience) {
  return {
    headersTimeout: headMs,
    connectionsCheckingInterval: headMs / 4,
    maxHeaderSize: MAX_HEAD_BYTES,
  }
}

/** What comes beyond them is closed before a byte of it is read. */
function limitConnections(app: FastifyInstance, { connections }: Patience): void {
  app.server.maxConnections = connections
  let toldMs = Number.NEGATIVE_INFINITY
  app.server.on('drop', () => {
    if (performance.now() - toldMs < DROPS_TOLD_EVERY_MS) return
    toldMs = performance.now()
    app.log.warn({ connections }, 'there are as many connections as are taken; others are closed')
  })
}

function acceptOnlyJson(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser<Buffer>(
    'application/json',
    { parseAs: 'buffer' },
    async (request: FastifyRequest, body: Buffer) => {
      const charset = /;\s*charset=\s*"?([^";\s]+)/i.exec(request.headers['content-type'] ?? '')?.[1]
      if (charset && charset.toLowerCase() !== 'utf-8') {
        throw new ApiError('content_type_invalid', `the body must be in UTF-8, not ${charset}`, {
          param: 'Content-Type',
        })
      }
      // Many clients declare JSON also where they send nothing.
      return body.length === 0 ? undefined : parseJson(body)
    },
  )
}

function addRequestHooks(app: FastifyInstance, deps: ServerDeps): void {
  const { load, metrics, corsOrigins, rateLimit, patience } = deps
  app.decorateRequest('caller', undefined)
  app.addHook('onRequest', async (request, reply) => {
    reply.header('Request-Id', request.id)
    noteExchange(request.raw, reply.raw)
    // Node would refuse it in its own words, without an id.
    if (request.raw.httpVersion === '1.1' && request.headers.host === undefined)
      throw new ApiError('request_malformed', 'the request has no Host header')
    if (isUpload(request.url)) return
    allowOrigins(corsOrigins, request, reply)
    if (isPreflight(request) && reply.hasHeader('Access-Control-Allow-Origin')) return reply.code(204).send()
    // A busy service is alive: whoever looks after it must be able to see that, and why.
    if (!isProbe(request.url)) reply.raw.once('close', load.enter('request'))
  })
  app.addHook('preParsing', async (request, reply) => {
    if (isUpload(request.url)) return
    allowContinue(request.raw, reply.raw)
    endLateBody(request.raw, patience.bodyMs)
  })
  app.addHook('onSend', async (request, reply) => {
    // Whoever has not spent anything is told what their address has left.
    if (!reply.hasHeader('RateLimit-Limit')) await rateLimit.show(addressBucket(request.ip), reply)
  })
  app.addHook('onResponse', async (request, reply) => {
    const route = request.routeOptions.url ?? 'unknown'
    const seconds = reply.elapsedTime / 1000
    metrics.observeRequest(request.method, route, reply.statusCode, seconds)
    // The path without its query: upload URLs carry their permission there.
    const [path] = request.url.split('?')
    request.log.info(
      {
        method: request.method,
        path,
        status: reply.statusCode,
        ms: Math.round(seconds * 1000),
        caller: request.caller?.id,
      },
      'request',
    )
  })
}

/** However it is sent: these bodies are small. */
function endLateBody(request: IncomingMessage, withinMs: number): void {
  const timer = setTimeout(() => request.destroy(), withinMs)
  request.once('end', () => clearTimeout(timer)).once('close', () => clearTimeout(timer))
}

function isProbe(url: string): boolean {
  return /^\/(healthz|readyz|metrics)(\?|$)/.test(url)
}

function isUpload(url: string): boolean {
  return url.startsWith('/upload/')
}
