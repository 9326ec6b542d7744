import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { readConfig } from './packages/server/src/config.ts'

// What is in deploy/, compose.yaml and the Dockerfile goes with the code, as far as that can be seen without running it.

const compose = readFileSync('compose.yaml', 'utf8')
const dockerfile = readFileSync('Dockerfile', 'utf8')
const units = globSync('deploy/systemd/*.service').map((file) => ({ file, text: readFileSync(file, 'utf8') }))

/** What compose.yaml asks for, as deploy/env.example lists it. */
const settings = {
  POSTGRES_PASSWORD: 'p',
  STORE_KEY: 'k',
  STORE_SECRET: 's',
  TAPEDECK_SECRET: 'x'.repeat(32),
  PUBLIC_URL: 'https://tapedeck.example.com',
}

test('only variables that the service or its Node reads are set', () => {
  const known = new Set<string>(['NODE_COMPILE_CACHE', 'PATH', 'UV_THREADPOOL_SIZE'])
  readConfig(new Proxy({}, { get: (_, name) => void known.add(String(name)) }))
  const inCompose = /&environment\n((?: {4}.*\n)+)/.exec(compose)?.[1] ?? assert.fail()
  const set = [
    ...[...inCompose.matchAll(/^ {4}([A-Z]\w+):/gm)].map(([, name]) => name),
    ...[...dockerfile.matchAll(/^(?:ENV| {4}) ?([A-Z_]+)=/gm)].map(([, name]) => name),
    ...units.flatMap(({ text }) =>
      [...text.matchAll(/^Environment=(.*)$/gm)].flatMap(([, line = '']) => namesIn(line)),
    ),
  ]
  assert.ok(set.length > 20)
  assert.deepEqual(
    set.filter((name) => !known.has(name ?? '')),
    [],
  )
})

const namesIn = (line: string) => line.split(' ').map((assignment) => assignment.split('=')[0])

test('the service accepts what compose.yaml gives it', () => {
  const inCompose = /&environment\n((?: {4}.*\n)+)/.exec(compose)?.[1] ?? ''
  const env: NodeJS.ProcessEnv = { TAPEDECK_ROLE: 'api' }
  for (const [, name = '', value = ''] of inCompose.matchAll(/^ {4}([A-Z]\w+): (.*)$/gm)) {
    env[name] = value.replaceAll(
      /\$\{(\w+)(?::[-?]([^}]*))?\}/g,
      (_, variable: string, fallback = '') => (settings as Record<string, string>)[variable] ?? fallback,
    )
  }
  assert.equal(readConfig(env).s3?.endpoint, 'http://store:9000')
})

test('deploy/env.example asks for what compose.yaml needs, and for nothing else', () => {
  const asked = [...readFileSync('deploy/env.example', 'utf8').matchAll(/^(\w+)=/gm)].map(([, name]) => name)
  assert.deepEqual(asked.sort(), Object.keys(settings).sort())
  for (const name of asked) assert.ok(compose.includes(`\${${name}`), name)
})

test('files that are named are there', () => {
  const named = [
    ...[...compose.matchAll(/"\.\/([^:"]+):/g)].map(([, path]) => path),
    ...[...dockerfile.matchAll(/(?:^|[ '"/])((?:scripts|packages)\/[\w./-]+)/gm)].map(([, path]) => path),
    ...units.flatMap(({ text }) =>
      [...text.matchAll(/ ((?:scripts|packages)\/\S+)/g)].map(([, path]) => path),
    ),
  ]
  assert.ok(named.length >= 8)
  const made = 'packages/console/dist'
  assert.deepEqual(
    named.filter((path = '') => path !== made && !existsSync(path.replace(/^\.\//, ''))),
    [],
  )
})

test('units wait longer for the end of a service than it takes', () => {
  for (const { file, text } of units) {
    assert.match(text, /^KillMode=mixed$/m, file)
    assert.ok(Number(/^TimeoutStopSec=(\d+)$/m.exec(text)?.[1]) >= 60, file)
  }
})

const runs = (command: string, ...args: string[]) => spawnSync(command, args).status === 0

test('docker compose accepts compose.yaml', {
  skip: runs('docker', 'compose', 'version') ? false : 'docker compose is not here',
}, () => {
  const result = spawnSync('docker', ['compose', 'config', '--quiet'], {
    encoding: 'utf8',
    env: { ...process.env, ...settings },
  })
  assert.deepEqual({ status: result.status, said: result.stderr }, { status: 0, said: '' })
})

test('systemd accepts the units', {
  skip: runs('systemd-analyze', '--version') ? false : 'systemd-analyze is not here',
}, () => {
  const result = spawnSync('systemd-analyze', ['verify', ...units.map(({ file }) => file)], {
    encoding: 'utf8',
  })
  // Of our units, not of the machine; that /usr/bin/node is not here says nothing about them.
  const said = result.stderr.split('\n').filter((line) => /tapedeck(?!.*is not executable)/.test(line))
  assert.deepEqual(said, [])
})

/** What nginx says against a configuration; undefined where it can say nothing, not even about an empty one. */
function nginxRefusal(configuration: string): string | undefined {
  const dir = mkdtempSync(join(tmpdir(), 'tapedeck-nginx-'))
  const tried = (text: string) => {
    writeFileSync(join(dir, 'nginx.conf'), `pid ${dir}/pid;\n${text}`)
    return spawnSync('nginx', ['-t', '-p', dir, '-c', 'nginx.conf', '-e', `${dir}/log`], { encoding: 'utf8' })
  }
  try {
    if (tried('events {}\nhttp {}').status !== 0) return undefined
    const { status, stderr } = tried(configuration)
    return status === 0 ? '' : stderr
  } finally {
    rmSync(dir, { recursive: true })
  }
}

test('nginx accepts its configuration', (t) => {
  // The names of the nodes mean something only inside of the network of compose.yaml.
  const text = readFileSync('deploy/nginx.conf', 'utf8').replaceAll(/api-\d:/g, '127.0.0.1:')
  const refusal = nginxRefusal(text)
  if (refusal === undefined) return t.skip('nginx is not here, or may not run')
  assert.equal(refusal, '')
})
