import scalar from '@scalar/fastify-api-reference'
import type { FastifyInstance } from 'fastify'

/** The reference of the API, for a browser and for machines. */
export function registerReference(app: FastifyInstance, document: () => object): void {
  app.get('/v1/openapi.json', async () => document())
  app.register(scalar, {
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
}
