import { randomBytes } from 'node:crypto'
import { signWebhook } from '@tapedeck/sdk'
import type { Context } from '../command.ts'
import { connect } from '../connection.ts'
import { json } from '../print.ts'
import { expectArguments, given, UsageError } from '../usage.ts'

const TIMEOUT_MS = 10_000

/** Posts what happens, signed, to an address of this machine, as the service posts it to public ones. */
export async function listen(args: string[], context: Context): Promise<undefined> {
  expectArguments(args)
  const { flags, terminal, signal } = context
  const target = targetIn(flags['forward-to'])
  const secret = flags.secret ?? `whsec_${randomBytes(24).toString('hex')}`
  const { tapedeck, url } = connect(context)
  const types = flags.events?.split(',').map((name) => name.trim()) as never
  let opened = false
  const onOpen = () => {
    if (opened) return void terminal.note('connected again\n')
    opened = true
    const ready = { listening: url, forward_to: target, secret }
    terminal.print(
      flags.json
        ? json(ready)
        : `listening at ${url}; forwarding to ${target}\nsecret of the signatures: ${secret}\n`,
    )
  }
  for await (const { event, body } of tapedeck.events.stream({ ...given({ types }), signal, onOpen })) {
    const { status, error } = await forward(target, body, secret, signal)
    if (flags.json) terminal.print(json({ event: event.id, type: event.type, status, error }))
    else {
      const outcome = error ?? String(status)
      const colour = status !== null && status >= 200 && status < 300 ? 'green' : 'red'
      terminal.print(`${event.created_at}  ${event.type}  ${event.id}  ${terminal.paint(colour, outcome)}\n`)
    }
  }
}

function targetIn(given: string | undefined): string {
  if (!given) throw new UsageError('webhooks listen needs --forward-to URL')
  const url = URL.parse(given)
  if (!url || !/^https?:$/.test(url.protocol))
    throw new UsageError(`--forward-to is an address such as http://127.0.0.1:3000/hooks, not ${given}`)
  return url.href
}

async function forward(
  target: string,
  body: string,
  secret: string,
  signal: AbortSignal,
): Promise<{ status: number | null; error: string | null }> {
  try {
    const response = await fetch(target, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'Service-Signature': await signWebhook(body, secret) },
      body,
      redirect: 'manual',
      signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
    })
    await response.body?.cancel()
    return { status: response.status, error: null }
  } catch (error) {
    signal.throwIfAborted()
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
    const code: unknown = cause instanceof Error ? Reflect.get(cause, 'code') : undefined
    const reason = typeof code === 'string' ? code : cause instanceof Error ? cause.message : String(cause)
    return { status: null, error: `cannot reach ${target}: ${reason}` }
  }
}
