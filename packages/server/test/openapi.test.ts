import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { Compile } from 'typebox/compile'
import { type Service, startService } from './support/service.ts'

type Media = { schema: object; example?: unknown; examples?: Record<string, { value: unknown }> }
type OperationObject = {
  operationId: string
  requestBody?: { content: Record<string, Media> }
  responses: Record<string, { headers?: object; content?: Record<string, Media> }>
}
type Document = {
  paths: Record<string, Record<string, OperationObject>>
  components: { schemas: { Error: object } }
}

let service: Service
let document: Document
before(async () => {
  service = await startService()
  document = (await (await fetch(`${service.url}/v1/openapi.json`)).json()) as Document
})
after(() => service.close())

const operations = () => Object.values(document.paths).flatMap((path) => Object.values(path))

test('the OpenAPI document passes the linter without an error', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'tapedeck-openapi-'))
  const file = join(dir, 'openapi.json')
  await writeFile(file, JSON.stringify(document))
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['node_modules/@redocly/cli/bin/cli.js', 'lint', '--config', 'redocly.yaml', file],
    {
      encoding: 'utf8',
      env: { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' },
    },
  )
  await rm(dir, { recursive: true })
  assert.equal(status, 0, stdout + stderr)
})

test('every example in the document fits its own schema', () => {
  let checked = 0
  const errorSchema = Compile(document.components.schemas.Error)
  for (const { operationId, requestBody, responses } of operations()) {
    const bodies = [requestBody, ...Object.values(responses)].flatMap((body) =>
      Object.entries(body?.content ?? {}),
    )
    for (const [type, media] of bodies) {
      if (type !== 'application/json') continue
      const validator = '$ref' in media.schema ? errorSchema : Compile(media.schema)
      const examples = media.examples
        ? Object.values(media.examples).map(({ value }) => value)
        : [media.example]
      for (const example of examples) {
        assert.ok(validator.Check(example), `${operationId}: ${JSON.stringify(validator.Errors(example))}`)
        checked++
      }
    }
  }
  assert.ok(checked > 50, `${checked} examples`)
})

test('every operation is described, with its errors and headers', () => {
  const ids = operations().map((operation) => operation.operationId)
  assert.deepEqual(ids.sort(), [
    'completeSession',
    'createSession',
    'createWebhookEndpoint',
    'deleteSession',
    'deleteWebhookEndpoint',
    'listChannels',
    'listDevices',
    'listEvents',
    'listSessions',
    'listSites',
    'listWebhookDeliveries',
    'listWebhookEndpoints',
    'putCalibration',
    'redeliver',
    'redeliverFailed',
    'reprocessSession',
    'retrieveCalibration',
    'retrieveEvent',
    'retrieveSegment',
    'retrieveSession',
    'retrieveTimeline',
    'retrieveWebhookEndpoint',
    'rotateWebhookSecret',
    'searchSegments',
    'streamEvents',
    'testWebhookEndpoint',
    'updateWebhookEndpoint',
    'uploadPart',
  ])
  for (const { operationId, responses } of operations()) {
    for (const [status, { headers = {} }] of Object.entries(responses)) {
      for (const name of ['Request-Id', 'RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset']) {
        assert.ok(name in headers, `${operationId} ${status} does not describe ${name}`)
      }
    }
    assert.ok(
      ['429', '500', '503'].every((status) => status in responses),
      operationId,
    )
  }
})

test('the reference is served with everything it needs, from this address alone', async () => {
  const page = await fetch(`${service.url}/docs`)
  const html = await page.text()
  assert.equal(page.status, 200)
  const script = /<script[^>]+src="([^"]+)"/.exec(html)?.[1] ?? ''
  const source = await fetch(new URL(script, page.url))
  assert.equal(source.status, 200)
  assert.equal(new URL(source.url).origin, service.url)
  assert.match(html, /\/v1\/openapi\.json/)
})
