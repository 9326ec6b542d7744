// npm run pack-sdk [-- FOLDER]: builds packages/sdk as others install it, and packs it. Inside the repository the SDK is
// its TypeScript; what leaves it is JavaScript for Node and for browsers, with declarations that need no other package.
import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { build } from 'esbuild'

const root = join(import.meta.dirname, '..')
const source = join(root, 'packages', 'sdk')
const dist = join(source, 'dist')
const { name, version, description, dependencies } = JSON.parse(
  readFileSync(join(source, 'package.json'), 'utf8'),
)

/** Returns the path of the tarball. */
export async function packSdk(folder: string): Promise<string> {
  rmSync(dist, { recursive: true, force: true })
  await bundle('node', ['src/index.ts', 'src/node/hash-thread.ts'])
  await bundle('browser', ['src/index.ts', 'src/browser/hash-worker.ts'])
  declare()
  cpSync(join(root, 'docs', 'sdk.md'), join(dist, 'README.md'))
  writeFileSync(join(dist, 'package.json'), `${JSON.stringify(manifest(), null, 2)}\n`)
  mkdirSync(folder, { recursive: true })
  const packed = run('npm', ['pack', '--json', '--ignore-scripts', `--pack-destination=${folder}`], dist)
  return join(folder, JSON.parse(packed)[0].filename)
}

async function bundle(platform: 'node' | 'browser', entryPoints: string[]): Promise<void> {
  const outdir = join(dist, platform)
  await build({
    absWorkingDir: source,
    entryPoints,
    outdir,
    entryNames: '[name]',
    bundle: true,
    format: 'esm',
    platform,
    target: platform === 'node' ? 'node20' : 'es2022',
    // What hashing in browsers needs is the user's to install and to update.
    external: ['hash-wasm'],
    logLevel: 'warning',
  })
  // The one thing that no bundler does: a thread is named by the file that it begins with.
  for (const file of readdirSync(outdir)) {
    const path = join(outdir, file)
    const text = readFileSync(path, 'utf8')
    writeFileSync(path, text.replaceAll(/"\.\/(hash-\w+)\.ts"/g, '"./$1.js"'))
  }
}

function declare(): void {
  run(join(root, 'node_modules/.bin/tsc'), ['--project', 'tsconfig.build.json'], source)
  const types = join(dist, 'types')
  for (const file of readdirSync(types, { recursive: true, encoding: 'utf8' })) {
    if (!file.endsWith('.d.ts')) continue
    const text = readFileSync(join(types, file), 'utf8')
    writeFileSync(join(types, file), text.replaceAll(/from '(\.[^']+)\.ts'/g, "from '$1.js'"))
  }
}

function manifest(): object {
  const types = './types/index.d.ts'
  const { 'hash-wasm': hashWasm } = dependencies
  return {
    name,
    version,
    description,
    type: 'module',
    engines: { node: '>=20.3' },
    exports: {
      '.': {
        types,
        browser: './browser/index.js',
        default: './node/index.js',
      },
    },
    types,
    sideEffects: false,
    dependencies: { 'hash-wasm': hashWasm },
  }
}

function run(command: string, args: string[], cwd: string): string {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd, encoding: 'utf8' })
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${status}: ${stdout}${stderr}`)
  return stdout
}

if (import.meta.main) {
  const folder = resolve(process.argv[2] ?? '.')
  process.stdout.write(`${await packSdk(folder)}\n`)
}
