import { type Command, exitCodes } from './command.ts'
import { commands } from './commands.ts'

const COLUMN = 46

export function helpFor(name: string | undefined): string {
  const command = name === undefined ? undefined : commands[name]
  return command && name !== undefined ? oneCommand(name, command) : everything()
}

function everything(): string {
  const groups = Object.values(commands).map(({ usage }) => usage.map(usageLine).join(''))
  return `tapedeck: the command line of Tapedeck

${groups.join('\n')}
  --json   print JSON
  --help   print this, or what there is to say about one command

The service is found by --url, TAPEDECK_URL or "tapedeck login", the key by TAPEDECK_API_KEY or "tapedeck login".
orgs, keys and processing work on the database that the environment names (DATABASE_URL, or the embedded one in
TAPEDECK_DATA_DIR, by default ./data), while the service runs and while it does not.

${exits()}
`
}

function oneCommand(name: string, { summary, usage, examples }: Command): string {
  return `tapedeck ${name}: ${summary}

${usage.map(usageLine).join('')}
Examples:

${examples.map((example) => `  ${example}\n`).join('')}
${exits()}
`
}

function usageLine([call, meaning]: [string, string]): string {
  const line = `  ${call.startsWith(' ') ? `    ${call.trim()}` : `tapedeck ${call}`}`
  return `${line.padEnd(meaning === '' ? 0 : COLUMN)}${meaning === '' ? '' : ` ${meaning}`}\n`
}

function exits(): string {
  const codes = Object.entries(exitCodes).map(([code, meaning]) => `${code} ${meaning}`)
  return `Exit codes: ${codes.join(', ')}.`
}
