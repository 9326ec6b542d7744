import { chmodSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { WrongSetting } from './usage.ts'

/** What `tapedeck login` keeps. */
export type Login = { url: string; key: string }

export function stateDir(env: NodeJS.ProcessEnv): string {
  return join(env.XDG_STATE_HOME || join(home(env), '.local', 'state'), 'tapedeck')
}

export function loginPath(env: NodeJS.ProcessEnv): string {
  return join(env.XDG_CONFIG_HOME || join(home(env), '.config'), 'tapedeck', 'login.json')
}

function home(env: NodeJS.ProcessEnv): string {
  return env.HOME || homedir()
}

export function readLogin(env: NodeJS.ProcessEnv): Partial<Login> {
  const path = loginPath(env)
  try {
    const { url, key } = JSON.parse(readFileSync(path, 'utf8'))
    return { ...(typeof url === 'string' && { url }), ...(typeof key === 'string' && { key }) }
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return {}
    const reason = error instanceof Error ? error.message : error
    throw new WrongSetting(`${path} cannot be read (${reason}); log in again with: tapedeck login`)
  }
}

/** For nobody else's eyes from its first byte on. */
export function writeLogin(env: NodeJS.ProcessEnv, login: Login): string {
  const path = loginPath(env)
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  const fresh = `${path}.${process.pid}`
  writeFileSync(fresh, `${JSON.stringify(login, null, 2)}\n`, { mode: 0o600 })
  chmodSync(fresh, 0o600)
  renameSync(fresh, path)
  return path
}
