import type { Event, UpdateWebhookEndpoint, WebhookDelivery, WebhookEndpoint } from '@tapedeck/sdk'
import type { Context } from '../command.ts'
import { connect } from '../connection.ts'
import { json, table } from '../print.ts'
import { expectArguments, given, readCount, UsageError } from '../usage.ts'
import { listen } from './webhooks-listen.ts'

const DEFAULT_LIMIT = 50

type Verb = (args: string[], context: Context) => Promise<number | undefined>

const verbs: Record<string, Verb> = {
  create,
  list,
  get,
  update,
  delete: remove,
  rotate,
  test,
  deliveries,
  redeliver,
  listen,
}

export async function webhooks([verb, ...rest]: string[], context: Context): Promise<number | undefined> {
  const run = verb !== undefined && Object.hasOwn(verbs, verb) ? verbs[verb] : undefined
  if (!run) throw new UsageError(`webhooks has ${Object.keys(verbs).join(', ')}, not ${verb ?? 'nothing'}`)
  return run(rest, context)
}

async function create(args: string[], context: Context): Promise<undefined> {
  const [url = ''] = expectArguments(args, 'URL')
  const { flags, terminal, signal } = context
  if (!flags.events) throw new UsageError('webhooks create needs --events NAME,…')
  const input = {
    url,
    events: eventsIn(flags.events) as WebhookEndpoint['events'],
    ...given({ description: flags.description }),
  }
  const made = await connect(context).tapedeck.webhookEndpoints.create(input, { signal })
  if (flags.json) return void terminal.print(json(made))
  terminal.print(
    `${made.secret}\n\nid ${made.id}, ${made.events.join(',')}. The secret is shown only this once.\n`,
  )
}

async function list(args: string[], context: Context): Promise<undefined> {
  expectArguments(args)
  const { flags, terminal, signal } = context
  const limit = readCount('limit', flags.limit) ?? DEFAULT_LIMIT
  const found = await connect(context).tapedeck.webhookEndpoints.list({}, { signal }).toArray({ limit })
  if (flags.json) return void terminal.print(json({ data: found }))
  const rows = found.map(({ id, status, url, events, description }) => [
    id,
    status,
    url,
    events.join(','),
    description ?? '-',
  ])
  terminal.print(table([['ID', 'STATUS', 'URL', 'EVENTS', 'DESCRIPTION'], ...rows], terminal.width))
}

async function get(args: string[], context: Context): Promise<undefined> {
  const [id = ''] = expectArguments(args, 'ID')
  const { signal } = context
  show(await connect(context).tapedeck.webhookEndpoints.retrieve(id, { signal }), context)
}

async function update(args: string[], context: Context): Promise<undefined> {
  const [id = ''] = expectArguments(args, 'ID')
  const { flags, signal } = context
  if (flags.enabled && flags.disabled) throw new UsageError('--enabled or --disabled, not both')
  const status = flags.enabled ? 'enabled' : flags.disabled ? 'disabled' : undefined
  const events = flags.events === undefined ? undefined : eventsIn(flags.events)
  const input = given({ events, description: flags.description, status }) as UpdateWebhookEndpoint
  if (Object.keys(input).length === 0)
    throw new UsageError('webhooks update needs --events, --description, --enabled or --disabled')
  show(await connect(context).tapedeck.webhookEndpoints.update(id, input, { signal }), context)
}

async function remove(args: string[], context: Context): Promise<undefined> {
  const [id = ''] = expectArguments(args, 'ID')
  const { flags, terminal, signal } = context
  const deleted = await connect(context).tapedeck.webhookEndpoints.delete(id, { signal })
  terminal.print(flags.json ? json(deleted) : `deleted ${deleted.id}\n`)
}

async function rotate(args: string[], context: Context): Promise<undefined> {
  const [id = ''] = expectArguments(args, 'ID')
  const { flags, terminal, signal } = context
  const rotated = await connect(context).tapedeck.webhookEndpoints.rotateSecret(id, { signal })
  terminal.print(
    flags.json
      ? json(rotated)
      : `${rotated.secret}\n\nThe secret is shown only this once; the old one signs too for 24 hours.\n`,
  )
}

async function test(args: string[], context: Context): Promise<undefined> {
  const [id = ''] = expectArguments(args, 'ID')
  const { flags, terminal, signal } = context
  const delivery = await connect(context).tapedeck.webhookEndpoints.test(id, { signal })
  terminal.print(
    flags.json
      ? json(delivery)
      : `sends a ping as ${delivery.id}; see: tapedeck webhooks deliveries ${delivery.endpoint}\n`,
  )
}

async function deliveries(args: string[], context: Context): Promise<undefined> {
  const [id = ''] = expectArguments(args, 'ID')
  const { flags, terminal, signal } = context
  const limit = readCount('limit', flags.limit) ?? DEFAULT_LIMIT
  const filters = given({ status: flags.status as WebhookDelivery['status'] | undefined })
  const { webhookEndpoints } = connect(context).tapedeck
  const found = await webhookEndpoints.listDeliveries(id, filters, { signal }).toArray({ limit })
  if (flags.json) return void terminal.print(json({ data: found }))
  const rows = found.map(({ id, event_type, status, created_at, next_attempt_at, attempts }) => {
    const last = attempts.at(-1)
    const how = last === undefined ? '-' : (last.error ?? String(last.status))
    return [id, event_type, status, created_at, String(attempts.length), how, next_attempt_at ?? '-']
  })
  const head = ['ID', 'EVENT', 'STATUS', 'CREATED', 'ATTEMPTS', 'LAST', 'NEXT']
  terminal.print(table([head, ...rows], terminal.width))
}

async function redeliver(args: string[], context: Context): Promise<undefined> {
  const { flags, terminal, signal } = context
  const { webhookEndpoints } = connect(context).tapedeck
  if (flags.since !== undefined) {
    const [id = ''] = expectArguments(args, 'ID')
    const { count, has_more } = await webhookEndpoints.redeliverFailed(id, { since: flags.since }, { signal })
    const more = has_more ? '; there are more: run it again' : ''
    return void terminal.print(flags.json ? json({ count, has_more }) : `${count} are tried again${more}\n`)
  }
  const [id = '', delivery = ''] = expectArguments(args, 'ID', 'DELIVERY')
  const again = await webhookEndpoints.redeliver(id, delivery, { signal })
  terminal.print(flags.json ? json(again) : `${again.id} is tried again\n`)
}

function show(endpoint: WebhookEndpoint, { flags, terminal }: Context): void {
  const { id, status, url, events, description, created_at } = endpoint
  const facts = [
    ['id', id],
    ['status', status],
    ['url', url],
    ['events', events.join(',')],
    ['description', description ?? '-'],
    ['created', created_at],
  ]
  terminal.print(flags.json ? json(endpoint) : table(facts, terminal.width))
}

export function eventsIn(text: string): Event['type'][] {
  return text.split(',').map((name) => name.trim()) as Event['type'][]
}
