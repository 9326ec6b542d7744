import type { Context } from '../command.ts'
import { commands } from '../commands.ts'
import { expectArguments, type OptionName, UsageError } from '../usage.ts'

/** Made from the table of commands, so it knows all of them. */
export async function completion(args: string[], { terminal }: Context): Promise<undefined> {
  const [shell = ''] = expectArguments(args, 'bash|zsh|fish')
  const script = Object.hasOwn(scripts, shell) ? scripts[shell] : undefined
  if (!script) throw new UsageError(`completion has bash, zsh and fish, not ${shell}`)
  terminal.print(script())
}

const scripts: Record<string, () => string> = {
  bash,
  zsh: () => `autoload -U +X bashcompinit && bashcompinit\n${bash()}`,
  fish,
}

const flagsOf = (names: OptionName[]) => [...names, 'json', 'help'].map((name) => `--${name}`)

/** Falls back to files, for what takes them. */
function bash(): string {
  const cases = Object.entries(commands).map(
    ([name, { verbs, options }]) => `    ${name}) words="${[...verbs, ...flagsOf(options)].join(' ')}" ;;\n`,
  )
  return `_tapedeck() {
  local words
  case "\${COMP_WORDS[1]}" in
${cases.join('')}    *) words="" ;;
  esac
  [ "$COMP_CWORD" -eq 1 ] && words="${Object.keys(commands).join(' ')} --help"
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _tapedeck tapedeck
`
}

function fish(): string {
  const lines = Object.entries(commands).flatMap(([name, { summary, verbs, options }]) => {
    const within = `-n '__fish_seen_subcommand_from ${name}'`
    return [
      `complete -c tapedeck -n __fish_use_subcommand -f -a ${name} -d '${summary.replaceAll("'", '')}'`,
      ...(verbs.length > 0 ? [`complete -c tapedeck ${within} -f -a '${verbs.join(' ')}'`] : []),
      ...[...options, 'json', 'help'].map((option) => `complete -c tapedeck ${within} -l ${option}`),
    ]
  })
  return `${lines.join('\n')}\n`
}
