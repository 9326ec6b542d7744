import { parseArgs } from 'node:util'
import { type Command, type Context, INTERRUPTED } from './command.ts'
import { commands } from './commands.ts'
import { helpFor } from './help.ts'
import { inOneLine, isWrongUse } from './tell-error.ts'
import { openTerminal } from './terminal.ts'
import { type Flags, type OptionName, options, UsageError } from './usage.ts'

// Started by bin/tapedeck.mjs, which tells us by the end of the channel that it was killed.
if (process.channel) {
  process.channel.unref()
  process.on('disconnect', () => process.exit(1))
}
// Whoever reads our output may have read enough.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1))

process.exitCode = await main(process.argv.slice(2))

async function main(args: string[]): Promise<number> {
  const interruption = new AbortController()
  const terminal = openTerminal(process.env)
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.once(signal, () => {
      interruption.abort(new Error('interrupted'))
      // Who asks twice means it.
      process.once(signal, () => process.exit(INTERRUPTED))
    })
  }
  try {
    const { values, positionals } = parse(args)
    const [noun, ...rest] = positionals
    if (values.help || noun === undefined) {
      terminal.print(helpFor(noun))
      return 0
    }
    const command = Object.hasOwn(commands, noun) ? commands[noun] : undefined
    if (!command) throw new UsageError(`there is no command ${noun}`)
    refuseOthers(noun, command, values)
    const context: Context = { flags: values, env: process.env, terminal, signal: interruption.signal }
    const run = await command.load()
    return (await run(rest, context)) ?? 0
  } catch (error) {
    if (interruption.signal.aborted) {
      terminal.note('tapedeck: interrupted\n')
      return INTERRUPTED
    }
    terminal.note(`tapedeck: ${inOneLine(error)}\n`)
    return isWrongUse(error) ? 2 : 1
  }
}

function parse(args: string[]): { values: Flags; positionals: string[] } {
  try {
    return parseArgs({ args, options, allowPositionals: true })
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error))
  }
}

function refuseOthers(noun: string, command: Command, values: Flags): void {
  const allowed: OptionName[] = [...command.options, 'help', 'json']
  const other = (Object.keys(values) as OptionName[]).find((name) => !allowed.includes(name))
  if (other) throw new UsageError(`${noun} takes no --${other}`)
}
