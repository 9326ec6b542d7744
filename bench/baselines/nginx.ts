import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, writeFile } from 'node:fs/promises'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Stage } from '../support/stage.ts'

// WebDAV PUT of the nginx on the PATH, if one is there and has the module. It neither hashes nor syncs.

const READY_WITHIN_MS = 10_000

/** Its address, or undefined. */
export async function startNginx(stage: Stage, storeDir: string): Promise<string | undefined> {
  const { stderr = '' } = spawnSync('nginx', ['-V'], { encoding: 'utf8' })
  if (!stderr?.includes('--with-http_dav_module')) return undefined
  const dir = join(stage.dir, 'nginx')
  await mkdir(dir)
  const port = await freePort()
  await writeFile(join(dir, 'nginx.conf'), settings(dir, storeDir, port))
  const child = spawn('nginx', ['-p', dir, '-e', 'stderr', '-c', join(dir, 'nginx.conf')], {
    stdio: 'inherit',
  })
  const exited = once(child, 'exit')
  stage.after(async () => {
    child.kill('SIGTERM')
    await exited
  })
  await untilListening(port)
  return `http://127.0.0.1:${port}`
}

function settings(dir: string, storeDir: string, port: number): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  return `daemon off;
master_process off;
pid ${dir}/pid;
error_log stderr warn;
events {}
http {
  access_log off;
  client_max_body_size 0;
  ${temporary.map((name) => `${name}_temp_path ${dir}/${name};`).join('\n  ')}
  server {
    listen 127.0.0.1:${port};
    root ${storeDir};
    location / { dav_methods PUT; }
  }
}
`
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  if (typeof address !== 'object' || !address) throw new Error('no free port on loopback')
  return address.port
}

async function untilListening(port: number): Promise<void> {
  const deadlineMs = performance.now() + READY_WITHIN_MS
  for (;;) {
    const socket = connect(port, '127.0.0.1')
    try {
      await once(socket, 'connect')
      return
    } catch (error) {
      if (performance.now() > deadlineMs) throw error
      await sleep(20)
    } finally {
      socket.destroy()
    }
  }
}
