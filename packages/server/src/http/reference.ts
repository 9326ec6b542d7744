import fastify, { type FastifyInstance } from 'fastify'

/** The reference of the API, for a browser and for machines. */
export function registerReference(app: FastifyInstance, document: () => object): void {
  app.get('/v1/openapi.json', async () => document())
  // Few ever ask for the pages, and their library takes a quarter of the time in which the service starts: it is loaded
  // with the first who does, into a server of its own that is asked from within.
  let pages: Promise<FastifyInstance> | undefined
  for (const path of ['/docs', '/docs/', '/docs/js/scalar.js']) {
    app.get(path, async (_request, reply) => {
      pages ??= openPages()
      const { statusCode, headers, rawPayload } = await (await pages).inject(path)
      for (const name of ['content-type', 'location'])
        if (headers[name] !== undefined) reply.header(name, headers[name])
      return reply.code(statusCode).send(rawPayload)
    })
  }
}

async function openPages(): Promise<FastifyInstance> {
  const { default: scalar } = await import('@scalar/fastify-api-reference')
  const pages = fastify()
  await pages.register(scalar, {
    routePrefix: '/docs',
    // Only the reference: nothing in it may talk to anybody but this service.
    configuration: {
      url: '/v1/openapi.json',
      pageTitle: 'Tapedeck API',
      withDefaultFonts: false,
      telemetry: false,
      hideClientButton: true,
      showDeveloperTools: 'never',
      agent: { disabled: true },
      mcp: { disabled: true },
    },
  })
  return pages
}
