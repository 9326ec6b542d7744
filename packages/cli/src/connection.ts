import { InvalidRequestError, Tapedeck } from '@tapedeck/sdk'
import type { Context } from './command.ts'
import { readLogin } from './settings.ts'
import { WrongSetting } from './usage.ts'

export const DEFAULT_URL = 'http://127.0.0.1:8420'

export type Connected = { tapedeck: Tapedeck; url: string }

/** A client for the service and the key that the flags, the environment or the login name, in this order. */
export function connect({ flags, env }: Pick<Context, 'flags' | 'env'>): Connected {
  const login = env.TAPEDECK_API_KEY && (flags.url ?? env.TAPEDECK_URL) ? {} : readLogin(env)
  const url = flags.url ?? (env.TAPEDECK_URL || login.url) ?? DEFAULT_URL
  const key = env.TAPEDECK_API_KEY || login.key
  if (!key) throw new WrongSetting('there is no key; log in with: tapedeck login, or set TAPEDECK_API_KEY')
  return { tapedeck: client(url, key), url }
}

export function client(url: string, key: string): Tapedeck {
  try {
    return new Tapedeck({ apiKey: key, baseUrl: url })
  } catch (error) {
    if (error instanceof InvalidRequestError) throw new WrongSetting(error.message)
    throw error
  }
}
