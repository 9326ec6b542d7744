import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import type { Context } from '../command.ts'
import { client, DEFAULT_URL } from '../connection.ts'
import { json } from '../print.ts'
import { writeLogin } from '../settings.ts'
import { expectArguments, UsageError } from '../usage.ts'

export async function login(args: string[], context: Context): Promise<undefined> {
  expectArguments(args)
  const { flags, env, terminal, signal } = context
  const url = flags.url ?? (env.TAPEDECK_URL || DEFAULT_URL)
  const key = await readKey(context)
  // Kept only if it works.
  await client(url, key).sessions.list({ limit: 1 }, { signal })
  const path = writeLogin(env, { url, key })
  terminal.print(flags.json ? json({ url, path }) : `logged in at ${url}; kept in ${path}\n`)
}

async function readKey({ terminal, signal }: Context): Promise<string> {
  const { stdin } = process
  if (stdin.isTTY) terminal.note('API key (svc_live_…): ')
  // What is typed is not shown.
  const output = new Writable({ write: (_chunk, _encoding, done) => done() })
  const lines = createInterface({ input: stdin, output, terminal: stdin.isTTY, signal })
  lines.once('SIGINT', () => process.kill(process.pid, 'SIGINT'))
  try {
    for await (const line of lines) {
      if (line.trim() !== '') return line.trim()
    }
  } finally {
    lines.close()
    if (stdin.isTTY) terminal.note('\n')
  }
  signal.throwIfAborted()
  throw new UsageError('no key was given; type it, or send it to the standard input')
}
