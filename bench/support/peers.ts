import { mkdir, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ANNOUNCED } from '../baselines/announce.ts'
import { startNginx } from '../baselines/nginx.ts'
import { requestHead } from './connection.ts'
import { startProcess } from './process.ts'
import { type Recording, sendAll } from './recording.ts'
import type { Stage } from './stage.ts'

// Others that take in the same parts, each on a folder of its own.

/** A way to take in a recording: what is timed, and what puts everything back. */
export type Contestant = { name: string; take(): Promise<unknown>; clear(): Promise<unknown> }

export async function sink(stage: Stage, recording: Recording, connections: number): Promise<Contestant> {
  const { dir, clear } = await openFolder(stage, 'sink')
  const { found } = await startProcess(stage, [scriptPath('sink'), dir], ANNOUNCED)
  return { name: 'bare `node:http` sink', take: () => put(found[0] ?? '', recording, connections), clear }
}

/** Undefined where it is not on the PATH. */
export async function nginx(
  stage: Stage,
  recording: Recording,
  connections: number,
): Promise<Contestant | undefined> {
  const { dir, clear } = await openFolder(stage, 'nginx-store')
  const url = await startNginx(stage, dir)
  return url === undefined
    ? undefined
    : { name: 'nginx WebDAV', take: () => put(url, recording, connections), clear }
}

function put(url: string, { block, blockSha256, parts }: Recording, connections: number): Promise<void> {
  const headers = { 'Content-Length': block.length, 'x-amz-checksum-sha256': blockSha256.toString('base64') }
  const heads = Array.from({ length: parts }, (_, part) => requestHead('PUT', `${url}/${part}`, headers))
  return sendAll(url, connections, heads, (connection, head) => connection.send(head, block))
}

export async function tus(
  stage: Stage,
  { block, parts }: Recording,
  connections: number,
): Promise<Contestant> {
  const { dir, clear } = await openFolder(stage, 'tus')
  const { found } = await startProcess(stage, [scriptPath('tus'), dir], ANNOUNCED)
  const url = `${found[0]}/files`
  const version = { 'Tus-Resumable': '1.0.0' }
  const create = { method: 'POST', headers: { ...version, 'Upload-Length': String(block.length) } }
  const append = {
    ...version,
    'Upload-Offset': 0,
    'Content-Type': 'application/offset+octet-stream',
    'Content-Length': block.length,
  }
  return {
    name: '`@tus/server` with `@tus/file-store`',
    take: () =>
      sendAll(url, connections, Array(parts).fill(0), async (connection) => {
        const location = (await fetch(url, create)).headers.get('location') ?? ''
        await connection.send(requestHead('PATCH', location, append), block)
      }),
    clear,
  }
}

async function openFolder(stage: Stage, name: string): Promise<{ dir: string; clear(): Promise<void> }> {
  const dir = join(stage.dir, name)
  await mkdir(dir)
  return {
    dir,
    async clear() {
      for (const file of await readdir(dir)) await rm(join(dir, file))
    },
  }
}

function scriptPath(name: string): string {
  return fileURLToPath(new URL(`../baselines/${name}.ts`, import.meta.url))
}
