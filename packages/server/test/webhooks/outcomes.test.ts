import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { DeliveryStatus, WebhookDelivery } from '@tapedeck/contract'
import { openJobs } from '../../src/jobs/jobs.ts'
import { type Outcome, openOutcomes } from '../../src/webhooks/outcomes.ts'
import { startReceiver } from '../support/receiver.ts'
import { type Service, startService } from '../support/service.ts'
import { createEndpoint, deliveriesOf, ping } from '../support/webhooks.ts'

// What becomes of deliveries that were claimed twice, as happens to those whose first claim ran out while its
// outcome could not be written.

test('of two outcomes of one claim the first counts, in whatever transactions they come', async (t) => {
  const { service, outcomes, first, second } = await claimTwo(t)
  await outcomes.add(outcomeOf(first, 'failed'))
  await outcomes.add(outcomeOf(first, 'succeeded'))
  await outcomes.add(outcomeOf(second, 'succeeded'))
  assert.deepEqual(await shown(service, first, second), {
    [first.id]: 'failed 1',
    [second.id]: 'succeeded 1',
  })
})

test('two outcomes of one claim that are written together hold up nobody', async (t) => {
  const { service, outcomes, first, second } = await claimTwo(t)
  // Added in one go, they are written in one transaction.
  await Promise.all([
    outcomes.add(outcomeOf(first, 'succeeded')),
    outcomes.add(outcomeOf(first, 'succeeded')),
    outcomes.add(outcomeOf(second, 'succeeded')),
  ])
  assert.deepEqual(await shown(service, first, second), {
    [first.id]: 'succeeded 1',
    [second.id]: 'succeeded 1',
  })
})

/** Two deliveries that are on their way, and a second writer of their outcomes. */
async function claimTwo(t: TestContext) {
  const service = await startService()
  const receiver = await startReceiver(t, { answer: () => {} })
  t.after(() => service.close())
  const jobs = await openJobs(service.database.connection, () => {})
  t.after(() => jobs.stop())
  const { promise: failed, reject } = Promise.withResolvers<never>()
  failed.catch(() => {})
  const written = openOutcomes({ db: service.database.db, jobs }, reject)
  t.after(() => written.close())
  const pingNew = async () => ping(service, (await createEndpoint(service, receiver.url)).id)
  const [first, second] = [await pingNew(), await pingNew()]
  await receiver.arrived(2)
  // What cannot be written is tried again without end; here it is an error.
  const outcomes = { add: (outcome: Outcome) => Promise.race([written.add(outcome), failed]) }
  return { service, outcomes, first, second }
}

function outcomeOf({ id, endpoint }: WebhookDelivery, status: DeliveryStatus): Outcome {
  const error = status === 'succeeded' ? null : 'status'
  return {
    job: {
      jobId: '00000000-0000-0000-0000-000000000000',
      deliveryId: id,
      endpointId: endpoint,
      attemptsBefore: 0,
    },
    change: {
      status,
      attempt: { startedAt: new Date(), durationMs: 1, status: error ? 500 : 200, error, response: '' },
    },
  }
}

async function shown(service: Service, ...deliveries: WebhookDelivery[]): Promise<Record<string, string>> {
  const found = await Promise.all(deliveries.map(({ endpoint }) => deliveriesOf(service, endpoint)))
  return Object.fromEntries(
    found.flat().map(({ id, status, attempts }) => [id, `${status} ${attempts.length}`]),
  )
}
