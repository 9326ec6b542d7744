import scalar from '@scalar/fastify-api-reference'
import type { FastifyInstance } from 'fastify'

type Addresses = { baseUrl: string; uploadUrl: string; consoleUrl: string }

/** What a person opens in a browser: the reference, and the way to a first key. */
export function registerPages(
  app: FastifyInstance,
  document: () => object,
  addresses: () => Addresses,
): void {
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
  app.get('/', async (_request, reply) => reply.redirect('/console'))
  app.get('/console', async (_request, reply) =>
    reply
      .type('text/html; charset=utf-8')
      .header('Content-Security-Policy', "default-src 'none'; style-src 'unsafe-inline'")
      .send(consolePage(addresses())),
  )
}

function consolePage({ baseUrl }: Addresses): string {
  return `<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Tapedeck</title>
<style>
  :root { color-scheme: light dark; font: 16px/1.6 system-ui, sans-serif }
  body { max-width: 42rem; margin: 12vh auto; padding: 0 1.5rem }
  h1 { font-size: 1.6rem; margin: 0 } p { margin: 1.2rem 0 .4rem }
  pre { padding: .8rem 1rem; border: 1px solid color-mix(in srgb, currentColor 25%, transparent); border-radius: .5rem; white-space: pre-wrap }
</style>
<h1>Tapedeck</h1>
<p>The API is at <a href="/docs">${escapeHtml(baseUrl)}/v1</a>. Keys are made on the machine of the service:</p>
<pre>npx tapedeck keys create --org default --name laptop</pre>
<p>Then list what is there:</p>
<pre>curl -H "Authorization: Bearer svc_live_…" ${escapeHtml(baseUrl)}/v1/sessions</pre>
<p><a href="/docs">API reference</a> · <a href="/v1/openapi.json">OpenAPI</a> · <a href="/readyz">Health</a></p>
</html>`
}

function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`)
}
