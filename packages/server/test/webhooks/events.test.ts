import assert from 'node:assert/strict'
import { after, before, type TestContext, test } from 'node:test'
import { type Event, type EventList, type EventType, eventTypes, type Session } from '@tapedeck/contract'
import { sql } from 'kysely'
import { systemClock } from '../../src/clock.ts'
import { openJobs } from '../../src/jobs/jobs.ts'
import { announce } from '../../src/webhooks/plan.ts'
import { call, complete, followSession, recording, uploadAll } from '../support/client.ts'
import { holding, untilBlocked } from '../support/hold.ts'
import { startReceiver } from '../support/receiver.ts'
import { organisationId } from '../support/seed.ts'
import { type Service, startService } from '../support/service.ts'
import { createEndpoint, deliveriesOf, openAnnouncements, ping, updateEndpoint } from '../support/webhooks.ts'

let service: Service
before(async () => {
  service = await startService({ env: { TAPEDECK_WEBHOOK_RETRY_SCALE: '0.01' } })
})
after(() => service.close())

/** Uploads what no reader knows. */
async function completeSession() {
  const { session, parts } = await uploadAll(service, recording(1))
  await complete(service, session.id, parts)
  return session
}

async function listEvents(query = ''): Promise<Event[]> {
  const { status, body } = await call<EventList>(service.url, 'GET', `/v1/events${query}`, {
    key: service.key,
  })
  assert.equal(status, 200)
  return body.data
}

test('a session that fails is told to the subscribed endpoint, with its issues', async (t) => {
  const receiver = await startReceiver(t)
  await createEndpoint(service, receiver.url, { events: ['session.failed'] })
  const session = await followSession(service, (await completeSession()).id)
  const [delivered] = await receiver.arrived(1)
  const event: Event = JSON.parse(delivered?.body ?? '')
  assert.deepEqual(Object.keys(event), ['id', 'object', 'type', 'created_at', 'data'])
  assert.match(event.id, /^evt_[0-9a-v]{36}$/)
  assert.match(event.created_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  assert.deepEqual([event.object, event.type], ['event', 'session.failed'])
  assert.ok(session.issues.length > 0)
  assert.deepEqual(event.data, {
    object: {
      id: session.id,
      object: 'session',
      status: 'failed',
      segment_count: session.segment_count,
      issues: session.issues,
    },
  })
})

test('a session that is processed is told to the subscribed endpoint', async (t) => {
  // In a sandbox the name of the file decides.
  const sandbox = { url: service.url, key: await service.makeKey({ mode: 'test' }) }
  const receiver = await startReceiver(t)
  await createEndpoint(sandbox, receiver.url, { events: ['session.processed'] })
  const { session: created, parts } = await uploadAll(sandbox, recording(1), {
    filename: 'tapedeck-processed.bin',
  })
  await complete(sandbox, created.id, parts)
  const session = await followSession(sandbox, created.id)
  const [delivered] = await receiver.arrived(1)
  const event: Event = JSON.parse(delivered?.body ?? '')
  assert.equal(event.type, 'session.processed')
  const { id, segment_count } = session
  assert.deepEqual(event.data, { object: { id, object: 'session', status: 'processed', segment_count } })
})

test('the state of a session, its event and the deliveries of it are one transaction', async (t) => {
  const { db } = service.database
  const receiver = await startReceiver(t)
  await createEndpoint(service, receiver.url, { events: ['session.failed'] })
  const session = await holding(db, sql`lock table deliveries in share row exclusive mode`, async () => {
    const created = await completeSession()
    await untilBlocked(db, 'insert into "deliveries"')
    // All but the deliveries is done, and nothing of it can be seen.
    const { body } = await call<Session>(service.url, 'GET', `/v1/sessions/${created.id}`, {
      key: service.key,
    })
    assert.equal(body.status, 'processing')
    assert.ok(!(await listEvents()).map(idOf).includes(created.id))
    return created
  })
  await followSession(service, session.id)
  assert.ok((await listEvents()).map(idOf).includes(session.id))
  await receiver.arrived(1)
})

test('what is rolled back is never told', async (t) => {
  const receiver = await startReceiver(t)
  const { id } = await createEndpoint(service, receiver.url, { events: ['export.failed'] })
  const { db, connection } = service.database
  const jobs = await openJobs(connection, () => {})
  t.after(() => jobs.stop())
  const announcer = { clock: systemClock, jobs, retryScale: 1 }
  const organisation = await organisationId(db, 'default')
  const rolledBack = db.transaction().execute(async (trx) => {
    const object = { id: 'exp_undone' }
    await announce(announcer, trx, { organisationId: organisation, type: 'export.failed', object })
    throw new Error('undone')
  })
  await assert.rejects(rolledBack, /undone/)
  assert.deepEqual(await deliveriesOf(service, id), [])
  assert.deepEqual((await listEvents('?type=export.failed')).map(idOf), [])
  // A job without its delivery would have come before this one.
  await ping(service, id)
  const [first] = await receiver.arrived(1)
  assert.equal(JSON.parse(first?.body ?? '').type, 'ping')
})

test('each of several subscribed endpoints gets the same event, once', async (t) => {
  const receivers = await Promise.all([1, 2, 3].map(() => startReceiver(t)))
  const endpoints = await Promise.all(
    receivers.map(({ url }) => createEndpoint(service, url, { events: ['export.completed'] })),
  )
  const announceEvent = await openAnnouncements(t, service)
  await announceEvent('export.completed', { id: 'exp_shared' })
  await Promise.all(receivers.map((receiver) => receiver.arrived(1)))
  assert.equal(new Set(receivers.flatMap(({ delivered }) => delivered.map(({ body }) => body))).size, 1)
  for (const { id } of endpoints) assert.equal((await deliveriesOf(service, id)).length, 1)
})

for (const type of eventTypes) {
  test(`${type} goes to those who subscribed to it and to nobody else`, async (t) => {
    const subscribed = await subscribe(t, [type])
    const toAll = await subscribe(t, [...eventTypes])
    const toOthers = await subscribe(
      t,
      eventTypes.filter((other) => other !== type),
    )
    const disabled = await subscribe(t, [type])
    await updateEndpoint(service, disabled.id, { status: 'disabled' })
    const stranger = await subscribe(t, [type], {
      url: service.url,
      key: await service.makeKey({ organisation: `stranger-${type}` }),
    })
    const announceEvent = await openAnnouncements(t, service)
    const object = { id: `obj_${type}`, object: 'session' }
    await announceEvent(type, object)
    for (const { arrived } of [subscribed, toAll]) {
      const [first] = await arrived(1)
      const { type: told, data } = JSON.parse(first?.body ?? '')
      assert.deepEqual({ told, data }, { told: type, data: { object } })
    }
    // What is planned for an endpoint is planned with the event: nothing can still be on its way.
    for (const { id, where, delivered } of [toOthers, disabled, stranger]) {
      assert.deepEqual(await deliveriesOf(where, id), [])
      assert.equal(delivered.length, 0)
    }
  })
}

async function subscribe(t: TestContext, events: EventType[], where: { url: string; key: string } = service) {
  const receiver = await startReceiver(t)
  const { id } = await createEndpoint(where, receiver.url, { events })
  return { ...receiver, id, where }
}

test('a changed subscription counts from the next event on', async (t) => {
  const receiver = await startReceiver(t)
  const { id } = await createEndpoint(service, receiver.url, { events: ['export.failed'] })
  const announceEvent = await openAnnouncements(t, service)
  await updateEndpoint(service, id, { events: ['export.completed'] })
  await announceEvent('export.failed', { id: 'exp_1' })
  await announceEvent('export.completed', { id: 'exp_2' })
  await receiver.arrived(1)
  assert.deepEqual(
    (await deliveriesOf(service, id)).map(({ event_type }) => event_type),
    ['export.completed'],
  )
})

test('an event is retrieved exactly as receivers got it', async (t) => {
  const receiver = await startReceiver(t)
  const { id } = await createEndpoint(service, receiver.url)
  const { event } = await ping(service, id)
  const [delivered] = await receiver.arrived(1)
  const { status, body } = await call<Event>(service.url, 'GET', `/v1/events/${event}`, { key: service.key })
  assert.equal(status, 200)
  assert.equal(JSON.stringify(body), delivered?.body)
})

test('an event is there though nobody subscribed to it', async (t) => {
  const key = await service.makeKey({ organisation: 'loner' })
  const { db, connection } = service.database
  const jobs = await openJobs(connection, () => {})
  t.after(() => jobs.stop())
  const organisation = await organisationId(db, 'loner')
  const told = { organisationId: organisation, type: 'session.processed' as const, object: { id: 'ses_1' } }
  await db.transaction().execute((trx) => announce({ clock: systemClock, jobs, retryScale: 1 }, trx, told))
  const { body } = await call<EventList>(service.url, 'GET', '/v1/events', { key })
  assert.deepEqual(body.data.map(idOf), ['ses_1'])
})

test('events are listed newest first, by type, page by page', async (t) => {
  const announceEvent = await openAnnouncements(t, service)
  const ids = Array.from({ length: 5 }, (_, index) => `exp_page_${index}`)
  for (const id of ids) {
    await announceEvent('export.completed', { id })
    await announceEvent('session.processed', { id: 'ses_between' })
  }
  const seen: (string | undefined)[] = []
  for (let cursor: string | null = ''; cursor !== null && seen.length < ids.length; ) {
    const path: string = `/v1/events?type=export.completed&limit=2${cursor && `&cursor=${cursor}`}`
    const { body }: { body: EventList } = await call(service.url, 'GET', path, { key: service.key })
    seen.push(...body.data.map(idOf))
    cursor = body.next_cursor
  }
  assert.deepEqual(seen.slice(0, ids.length), ids.toReversed())
})

function idOf(event: Event | undefined): string | undefined {
  const object: unknown = event?.data.object
  const id: unknown = typeof object === 'object' && object ? Reflect.get(object, 'id') : undefined
  return typeof id === 'string' ? id : undefined
}
