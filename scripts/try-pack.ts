// npm run try-pack: installs the packed SDK in an empty project as a user would, type-checks against it as strictly as
// TypeScript can, and uploads with it on every Node that is promised.
import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { startService } from '../bench/support/service.ts'
import { openStage } from '../bench/support/stage.ts'
import { packSdk } from './pack-sdk.ts'

const VERSIONS = ['20', '22', '24']

/** What a user writes: what is exported, used with its types. */
const program = `
import { SourceError, signWebhook, Tapedeck, TapedeckError, type Session, type UploadProgress, verifyWebhook } from '@tapedeck/sdk'

const { API_KEY: apiKey = '', BASE_URL: baseUrl = '' } = process.env
const tapedeck = new Tapedeck({ apiKey, baseUrl })
let last: UploadProgress | undefined
const session: Session = await tapedeck.sessions.upload('recording.bin', {
  site: 'lab',
  partSize: 8_000_000,
  onProgress: (now) => { last = now },
})
if (session.status !== 'processing' || last?.partsDone !== 3) throw new Error(JSON.stringify({ session, last }))
const { status } = await tapedeck.sessions.wait(session.id)
if (status !== 'failed') throw new Error('a file of sevens became ' + status)
const body = '{"id":"evt_1","data":{"object":{"t_ns":1773480413589123457}}}'
const event = await verifyWebhook(body, await signWebhook(body, 'whsec_x'), 'whsec_x')
if (Object(event.data.object).t_ns !== 1773480413589123457n) throw new Error('a digit was lost')
try {
  await tapedeck.sessions.upload('nowhere', { site: 'lab' })
} catch (error) {
  if (!(error instanceof SourceError) || !(error instanceof TapedeckError)) throw error
}
console.log('uploaded with Node', process.version)
`

const browserProgram = `
import { Tapedeck, type Session } from '@tapedeck/sdk'
export async function send(file: File): Promise<Session> {
  const tapedeck = new Tapedeck({ apiKey: 'svc_live_x', baseUrl: location.origin })
  for await (const session of tapedeck.sessions.list({ created: { gte: new Date() } })) console.log(session.id)
  return tapedeck.sessions.upload(file, { site: 'lab' })
}
`

const strict = {
  strict: true,
  skipLibCheck: false,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  isolatedModules: true,
  target: 'es2022',
}

const stage = await openStage()
const dir = join(stage.dir, 'project')
try {
  mkdirSync(dir)
  const service = await startService(stage)
  const tarball = await packSdk(dir)
  const write = (name: string, text: string) => writeFileSync(join(dir, name), text)
  write('package.json', JSON.stringify({ name: 'try', private: true, type: 'module' }))
  write('main.ts', program)
  write('page.ts', browserProgram)
  write(
    'tsconfig.json',
    JSON.stringify({
      compilerOptions: { ...strict, module: 'nodenext', types: ['node'], outDir: 'out' },
      files: ['main.ts'],
    }),
  )
  write(
    'tsconfig.page.json',
    JSON.stringify({
      compilerOptions: {
        ...strict,
        module: 'esnext',
        moduleResolution: 'bundler',
        types: [],
        noEmit: true,
        lib: ['es2022', 'dom', 'dom.iterable'],
      },
      files: ['page.ts'],
    }),
  )
  writeFileSync(join(dir, 'recording.bin'), new Uint8Array(20_000_000).fill(7))
  run('npm', ['install', '--no-audit', '--no-fund', tarball, 'typescript@5', '@types/node@20'])
  run('node_modules/.bin/tsc', ['-p', 'tsconfig.json'])
  run('node_modules/.bin/tsc', ['-p', 'tsconfig.page.json'])
  process.stdout.write('type-checked for Node and for browsers\n')
  for (const version of VERSIONS) {
    const home = join(dir, `node-${version}`)
    const nodePackage = `node-${process.platform}-${process.arch}`
    run('npm', [
      'install',
      '--no-audit',
      '--no-fund',
      '--ignore-scripts',
      '--prefix',
      home,
      `${nodePackage}@${version}`,
    ])
    const node = join(home, 'node_modules', nodePackage, 'bin', 'node')
    process.stdout.write(run(node, ['out/main.js'], { API_KEY: service.key, BASE_URL: service.url }))
  }
} finally {
  await stage.end()
}

function run(command: string, args: string[], env: NodeJS.ProcessEnv = {}): string {
  const options = { cwd: dir, encoding: 'utf8', env: { ...process.env, ...env } } as const
  const { status, stdout, stderr, error } = spawnSync(command, args, options)
  if (status === 0) return stdout
  throw new Error(`${command} ${args.join(' ')} ended with ${status ?? error?.message}:\n${stdout}${stderr}`)
}
