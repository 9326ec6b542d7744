import type { Run } from './command.ts'
import { type Flags, WrongSetting } from './usage.ts'

/** A command that works on the database of the service and answers with what is to be printed. */
export function printed(
  load: () => Promise<(args: string[], flags: Flags) => Promise<string>>,
): Promise<Run> {
  return administering(async () => {
    const command = await load()
    return async (args, { flags, terminal }) => {
      terminal.print(await command(args, flags))
      return undefined
    }
  })
}

/** A command that works on what the service has; what is wrong with its settings is told as such. */
export async function administering(load: () => Promise<Run>): Promise<Run> {
  const [command, { ConfigError }] = await Promise.all([load(), import('@tapedeck/server/admin')])
  return async (args, context) => {
    try {
      return await command(args, context)
    } catch (error) {
      throw error instanceof ConfigError ? new WrongSetting(error.message) : error
    }
  }
}
