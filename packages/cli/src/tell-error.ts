import { TapedeckError } from '@tapedeck/sdk'
import { UsageError, WrongSetting } from './usage.ts'

const hints: Record<string, string> = {
  key_missing: 'log in with: tapedeck login',
  key_invalid: 'log in with: tapedeck login',
  key_revoked: 'log in with another: tapedeck login',
  unreachable: 'check the address (--url, TAPEDECK_URL, tapedeck login) and whether the service runs',
  timeout: 'check the link and the service, and run it again',
}

/** What went wrong and what to do, never a stack. */
export function inOneLine(error: unknown): string {
  const message = (error instanceof Error ? error.message : String(error)).replaceAll(/\s*\n\s*/g, ' ')
  if (error instanceof UsageError) return `${message}; see: tapedeck --help`
  if (!(error instanceof TapedeckError)) return message
  const hint = hints[error.code]
  const said = hint && !message.includes('tapedeck') ? `${message}; ${hint}` : message
  return error.requestId === '' || error.status < 500 ? said : `${said} (${error.requestId})`
}

export function isWrongUse(error: unknown): boolean {
  return error instanceof UsageError || error instanceof WrongSetting
}
