import { execFile } from 'node:child_process'
import { join } from 'node:path'

const bin = join(import.meta.dirname, '..', 'bin', 'tapedeck.mjs')

export type Result = { code: number; stdout: string; stderr: string }

/** Runs the command as a shell would, on a data directory. */
export function tapedeck(dataDir: string, args: string[], env: Record<string, string> = {}): Promise<Result> {
  const { PATH = '', HOME = '' } = process.env
  return new Promise((resolve) => {
    const home = { HOME, XDG_CONFIG_HOME: join(dataDir, 'config'), XDG_STATE_HOME: join(dataDir, 'state') }
    const options = { env: { PATH, ...home, TAPEDECK_DATA_DIR: dataDir, ...env } }
    execFile('node', [bin, ...args], options, (error, stdout, stderr) => {
      resolve({ code: error ? Number(error.code) : 0, stdout, stderr })
    })
  })
}

/** The one JSON object that a command with --json prints. */
export async function tapedeckJson(dataDir: string, ...args: string[]) {
  const { code, stdout, stderr } = await tapedeck(dataDir, [...args, '--json'])
  if (code !== 0) throw new Error(`tapedeck ${args.join(' ')} ended with ${code}: ${stderr}`)
  return JSON.parse(stdout)
}
