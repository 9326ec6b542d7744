import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { endWithFile } from '../../server/test/support/ending.ts'
import { type Service, startService } from '../../server/test/support/service.ts'
import { openAnnouncements } from '../../server/test/support/webhooks.ts'
import { AuthenticationError, Tapedeck } from '../src/index.ts'
import { type FaultProxy, startFaultProxy } from './support/fault-proxy.ts'

const file = endWithFile()
let service: Service
let proxy: FaultProxy
let announce: Awaited<ReturnType<typeof openAnnouncements>>

before(async () => {
  proxy = await startFaultProxy(file)
  service = await startService()
  file.after(() => service.close())
  proxy.target = service.url
  announce = await openAnnouncements(file, service)
})

test('every event once and in order, whatever happens to the connection', async () => {
  const { events } = new Tapedeck({ apiKey: service.key, baseUrl: proxy.url })
  const stop = new AbortController()
  const opened = Promise.withResolvers<void>()
  const heard: unknown[] = []
  const listening = (async () => {
    const options = {
      types: ['session.failed' as const],
      signal: stop.signal,
      onOpen: () => opened.resolve(),
    }
    for await (const { event, body } of events.stream(options)) {
      assert.equal(JSON.parse(body).id, event.id)
      heard.push(Reflect.get(Object(event.data.object), 't_ns'))
      if (heard.length === 30) break
      // While the client is away things go on.
      if (heard.length % 7 === 0) proxy.cutAll()
    }
  })()
  await opened.promise
  for (let number = 1; number <= 30; number++) {
    await announce('session.processed', {})
    await announce('session.failed', { t_ns: number })
  }
  await listening
  assert.deepEqual(
    heard,
    Array.from({ length: 30 }, (_, index) => BigInt(index + 1)),
  )
})

test('a signal ends it, and so does a key that is not known', async () => {
  const stop = new AbortController()
  const { events } = new Tapedeck({ apiKey: service.key, baseUrl: proxy.url })
  const stream = events.stream({ signal: stop.signal, onOpen: () => stop.abort(new Error('enough')) })
  await assert.rejects(stream.next(), /enough/)
  const stranger = new Tapedeck({ apiKey: 'svc_live_x', baseUrl: proxy.url })
  await assert.rejects(stranger.events.stream().next(), AuthenticationError)
})
