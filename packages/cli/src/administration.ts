import type { Run } from './command.ts'
import { type Flags, WrongSetting } from './usage.ts'

/** A command that works on the database of the service and answers with what is to be printed. */
export async function printed(
  load: () => Promise<(args: string[], flags: Flags) => Promise<string>>,
): Promise<Run> {
  const [command, { ConfigError }] = await Promise.all([load(), import('@tapedeck/server/admin')])
  return async (args, { flags, terminal }) => {
    try {
      terminal.print(await command(args, flags))
      return undefined
    } catch (error) {
      throw error instanceof ConfigError ? new WrongSetting(error.message) : error
    }
  }
}
