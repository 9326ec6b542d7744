import type { Terminal } from './terminal.ts'
import type { Flags, OptionName } from './usage.ts'

export type Context = {
  flags: Flags
  env: NodeJS.ProcessEnv
  terminal: Terminal
  /** Aborted by Ctrl-C. */
  signal: AbortSignal
}

/** Returns the exit code where that is not 0. */
export type Run = (args: string[], context: Context) => Promise<number | undefined>

export type Command = {
  summary: string
  /** Lines of the help: how it is called, and what for. */
  usage: [call: string, meaning: string][]
  examples: string[]
  verbs: string[]
  options: OptionName[]
  /** Loaded when it is needed: a command for a robot does not wait for the database of the service. */
  load(): Promise<Run>
}

export const exitCodes = {
  0: 'done',
  1: 'failed',
  2: 'used wrongly',
  3: 'the recording could not be processed, or has errors (doctor)',
  130: 'interrupted',
} as const
export const RECORDING_FAILED = 3
export const INTERRUPTED = 130
