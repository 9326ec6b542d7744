import { parseArgs } from 'node:util'
import { ConfigError } from '@tapedeck/server/admin'
import { keys } from './commands/keys.ts'
import { orgs } from './commands/orgs.ts'
import { processing } from './commands/processing.ts'
import { UsageError } from './usage.ts'

const HELP = `tapedeck: the command line of Tapedeck

  tapedeck orgs create NAME                  make an organisation and its sandbox
  tapedeck orgs list
  tapedeck keys create --org NAME            make a key; it is shown only this once
      [--permissions read,write] [--test] [--name TEXT]
  tapedeck keys list [--org NAME]
  tapedeck keys revoke ID                    once it returns, no node takes the key any more
  tapedeck processing pause                  let completed sessions rest in "uploaded"
  tapedeck processing resume

  --json   print one JSON object
  --help   print this

These commands work on the database that the environment names (DATABASE_URL, or the embedded one in
TAPEDECK_DATA_DIR, by default ./data), while the service runs and while it does not.

Exit codes: 0 done, 1 failed, 2 used wrongly.
`

const options = {
  help: { type: 'boolean', short: 'h' },
  json: { type: 'boolean' },
  org: { type: 'string' },
  permissions: { type: 'string' },
  test: { type: 'boolean' },
  name: { type: 'string' },
} as const

const commands = { orgs, keys, processing }

process.exitCode = await main(process.argv.slice(2))

async function main(args: string[]): Promise<number> {
  try {
    const { values, positionals } = parse(args)
    if (values.help || positionals.length === 0) {
      process.stdout.write(HELP)
      return 0
    }
    const [noun = '', ...rest] = positionals
    const command = Object.entries(commands).find(([name]) => name === noun)?.[1]
    if (!command) throw new UsageError(`there is no command ${noun}`)
    process.stdout.write(await command(rest, values))
    return 0
  } catch (error) {
    const wrongUse = error instanceof UsageError || error instanceof ConfigError
    const hint = error instanceof UsageError ? '; see: tapedeck --help' : ''
    process.stderr.write(`tapedeck: ${error instanceof Error ? error.message : error}${hint}\n`)
    return wrongUse ? 2 : 1
  }
}

function parse(args: string[]) {
  try {
    return parseArgs({ args, options, allowPositionals: true })
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error))
  }
}
