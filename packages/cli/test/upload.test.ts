import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { mkdir, mkdtemp, open, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { before, describe, test } from 'node:test'
import { startFaultProxy } from '../../sdk/test/support/fault-proxy.ts'
import { call, recording, SMALLEST_PART } from '../../server/test/support/client.ts'
import { endWithFile } from '../../server/test/support/ending.ts'
import { type Service, startService } from '../../server/test/support/service.ts'
import { type Robot, run, start } from './remote.ts'

// tapedeck upload, as a process that is interrupted, killed and started again.

const file = endWithFile()
let service: Service
let proxy: Awaited<ReturnType<typeof startFaultProxy>>
let robot: Robot
let sandbox: Robot

before(async () => {
  proxy = await startFaultProxy(file)
  service = await startService({ env: { TAPEDECK_UPLOAD_URL: proxy.url } })
  file.after(() => service.close())
  proxy.target = service.url
  const home = await mkdtemp(join(tmpdir(), 'tapedeck-robot-'))
  file.after(() => rm(home, { recursive: true, force: true }))
  robot = { home, url: proxy.url, key: service.key }
  sandbox = { ...robot, key: await service.makeKey({ mode: 'test' }) }
})

const bytes = recording(2, 11)
const sha256 = createHash('sha256').update(bytes).digest('hex')
const small = ['--site', 'lab', '--part-size', '8MB']

async function fileOf(name: string, content: Uint8Array = bytes): Promise<string> {
  const path = join(robot.home, name)
  await mkdir(join(path, '..'), { recursive: true })
  await writeFile(path, content)
  return path
}

async function sessionsOf(filename: string) {
  const { body } = await call<{ data: { id: string; filename: string; status: string; sha256: string }[] }>(
    service.url,
    'GET',
    '/v1/sessions?limit=500',
    { key: service.key },
  )
  return body.data.filter((session) => session.filename === filename)
}

test('a file: one line with its session; again: it was uploaded before; --again: another session', async () => {
  const path = await fileOf('run-1.mcap')
  const first = await run(robot, ['upload', path, ...small, '--device', 'amr-07', '--notes', 'wheel change'])
  assert.deepEqual([first.code, first.stderr], [0, ''])
  const [, id] = /^(ses_\w+) {2}uploaded {2}7\.6 MiB {2}.*run-1\.mcap\n$/.exec(first.stdout) ?? []
  assert.ok(id, first.stdout)
  const same = [path, ...small, '--device', 'amr-07', '--notes', 'wheel change']
  assert.match((await run(robot, ['upload', ...same])).stdout, new RegExp(`^${id} {2}uploaded before`))
  const again = await run(robot, ['upload', ...same, '--again', '--json'])
  const { file: told, session } = JSON.parse(again.stdout)
  assert.deepEqual(
    [told, session.sha256, session.device, session.notes],
    [path, sha256, 'amr-07', 'wheel change'],
  )
  assert.notEqual(session.id, id)
})

test('folders and patterns: every file in them, each once; a bad one does not stop the others', async () => {
  const content = (seed: number) => recording(1, seed)
  await fileOf('folder/a.mcap', content(1))
  await fileOf('folder/deep/b.mcap', content(2))
  await fileOf('folder/.hidden', content(3))
  await fileOf('folder/empty.mcap', new Uint8Array())
  const { code, stdout, stderr } = await run(robot, [
    'upload',
    join(robot.home, 'folder'),
    join(robot.home, 'folder', '*.mcap'),
    ...small,
    '--json',
  ])
  const told = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  assert.deepEqual(
    told.map(({ file: path, error }) => [path.slice(robot.home.length + 8), error?.code]),
    [
      ['a.mcap', undefined],
      ['deep/b.mcap', undefined],
      ['empty.mcap', 'source_empty'],
    ],
  )
  assert.match(stderr, /^tapedeck: .*empty\.mcap is empty; there is nothing to upload\n$/)
  assert.equal(code, 1)
})

describe('--wait', () => {
  test('processed: the channels, the issues and exit code 0', async () => {
    const path = await fileOf('tapedeck-processed.mcap', recording(1, 4))
    const { code, stdout } = await run(sandbox, ['upload', path, ...small, '--wait'])
    assert.equal(code, 0)
    assert.match(stdout, /^.*tapedeck-processed\.mcap\nstatus {4}processed\nid /)
    assert.match(stdout, /\nCHANNEL +MESSAGES +RATE +SCHEMA\n/)
  })

  test('failed: the issues and exit code 3', async () => {
    const path = await fileOf('tapedeck-failed.mcap', recording(1, 5))
    const { code, stdout } = await run(sandbox, ['upload', path, ...small, '--wait', '--json'])
    assert.equal(code, 3)
    const { session } = JSON.parse(stdout)
    assert.equal(session.status, 'failed')
    assert.ok(session.issues.length > 0)
  })
})

describe('one clear line', () => {
  const cases: [string, string[], number, RegExp, Partial<Robot>?][] = [
    [
      'a file that is not there',
      ['nowhere.mcap', ...small],
      1,
      /cannot read nowhere\.mcap: there is no such file/,
    ],
    [
      'a pattern without a match',
      ['/nowhere/*.bag', ...small],
      1,
      /no file is named like \/nowhere\/\*\.bag/,
    ],
    ['no file', small, 2, /expected FILE…, found none/],
    ['no site', ['x.mcap'], 2, /upload needs --site SITE/],
    [
      'a size that is none',
      ['x', '--site', 'a', '--part-size', 'big'],
      2,
      /--part-size is a size such as 16MiB/,
    ],
    [
      'no number',
      ['x', '--site', 'a', '--parallel', '0'],
      2,
      /--parallel is a whole number from 1 on, not 0/,
    ],
    ['another option', ['x', '--site', 'a', '--limit', '1'], 2, /upload takes no --limit/],
    [
      'a wrong key',
      ['run-1.mcap', ...small],
      1,
      /the API key is not known/,
      { key: `svc_live_${'0'.repeat(32)}` },
    ],
    ['no key', ['run-1.mcap', ...small], 2, /there is no key; log in with: tapedeck login/, { key: '' }],
    ['a wrong address', ['run-1.mcap', ...small], 2, /baseUrl must be an address/, { url: 'nowhere' }],
  ]
  for (const [what, args, code, says, other] of cases) {
    test(what, async () => {
      const result = await run({ ...robot, ...other }, ['upload', ...args.map(atHome)])
      assert.equal(result.code, code, result.stderr)
      assert.match(result.stderr, /^tapedeck: [^\n]+\n$/)
      assert.match(result.stderr, says)
    })
  }

  function atHome(arg: string): string {
    return arg === 'run-1.mcap' ? join(robot.home, arg) : arg
  }

  test('no service there', async () => {
    const lonely = await startFaultProxy(file)
    lonely.target = service.url
    lonely.fault = () => ({ cut: 0 })
    const path = await fileOf('lonely.mcap')
    const { code, stderr } = await run({ ...robot, url: lonely.url }, ['upload', path, ...small])
    assert.equal(code, 1)
    assert.match(stderr, /^tapedeck: .*cannot reach http\S+: [^\n]+whether the service runs\n$/)
  })

  test('no room for the state: a warning, and the file arrives', async () => {
    const path = await fileOf('stateless.mcap')
    const notAFolder = await fileOf('not-a-folder')
    const { code, stdout, stderr } = await run(robot, ['upload', path, ...small], {
      XDG_STATE_HOME: notAFolder,
    })
    assert.equal(code, 0)
    assert.match(stdout, /^ses_\w+ {2}uploaded/)
    assert.match(stderr, /^tapedeck: the state of the upload cannot be kept [^\n]+\n$/)
  })

  test('a state that was damaged is made anew', async () => {
    const path = await fileOf('damaged.mcap')
    const state = join(robot.home, 'state-of-its-own')
    const env = { XDG_STATE_HOME: state }
    await run(robot, ['upload', path, ...small], env)
    const dir = join(state, 'tapedeck', 'uploads')
    for (const name of await readdir(dir)) await writeFile(join(dir, name), '{"idempotency')
    assert.match((await run(robot, ['upload', path, ...small], env)).stdout, /^ses_\w+ {2}uploaded {2}/)
  })
})

test('two commands for one file at once end in one session', async () => {
  const path = await fileOf('twice.mcap')
  const both = await Promise.all([
    run(robot, ['upload', path, ...small]),
    run(robot, ['upload', path, ...small]),
  ])
  assert.deepEqual(
    both.map(({ code, stderr }) => [code, stderr]),
    [
      [0, ''],
      [0, ''],
    ],
  )
  assert.equal((await sessionsOf('twice.mcap')).length, 1)
})

test('a session that was deleted is uploaded anew', async () => {
  const path = await fileOf('deleted.mcap')
  const { stdout } = await run(robot, ['upload', path, ...small])
  await call(service.url, 'DELETE', `/v1/sessions/${stdout.split(' ')[0]}`, { key: service.key })
  assert.match((await run(robot, ['upload', path, ...small])).stdout, /^ses_\w+ {2}uploaded {2}/)
})

test('Ctrl-C ends it with what to do, and the same command goes on', async () => {
  const path = await fileOf('stopped.mcap', recording(4, 12))
  const before = proxy.forwardedBytes
  const uploading = start(robot, ['upload', path, ...small, '--parallel', '1'])
  await proxy.untilForwarded(before + SMALLEST_PART)
  uploading.kill('SIGINT')
  const { code, stderr } = await uploading.ended
  assert.deepEqual(
    [code, stderr],
    [130, 'tapedeck: interrupted; run the same command again and it goes on from here\n'],
  )
  assert.match((await run(robot, ['upload', path, ...small])).stdout, /^ses_\w+ {2}uploaded {2}/)
  assert.equal((await sessionsOf('stopped.mcap')).length, 1)
})

test('killed 20 times at any moment, it finishes having sent less than 1.2 times the file', async () => {
  const KILLS = 20
  const parts = 100
  const path = await sparseFile('killed.mcap', parts)
  const total = parts * SMALLEST_PART
  const args = ['upload', path, ...small, '--parallel', '1']
  // The first is killed by the clock, while it starts, hashes or creates; the others by what was sent.
  const early = start(robot, args)
  await new Promise((resolve) => setTimeout(resolve, 300 + Math.random() * 700))
  early.kill('SIGKILL')
  await early.ended
  const shares = Array.from({ length: KILLS - 1 }, () => Math.random())
  const whole = shares.reduce((sum, share) => sum + share, 0)
  const before = proxy.forwardedBytes
  let at = before
  for (const share of shares) {
    at += (share / whole) * 0.9 * total
    const uploading = start(robot, args)
    const outcome = await Promise.race([proxy.untilForwarded(at), uploading.ended])
    assert.equal(outcome, undefined, `it ended before it was killed: ${JSON.stringify(outcome)}`)
    uploading.kill('SIGKILL')
    await uploading.ended
    at = Math.max(at, proxy.forwardedBytes)
  }
  const { code, stdout, stderr } = await run(robot, args)
  assert.deepEqual([code, stderr], [0, ''])
  const [session, ...others] = await sessionsOf('killed.mcap')
  assert.deepEqual([stdout.split(' ')[0], others.length], [session?.id, 0])
  assert.notEqual(session?.status, 'uploading')
  const sent = (proxy.forwardedBytes - before) / total
  assert.ok(sent < 1.2, `sent ${sent.toFixed(3)} times the file`)
})

/** Mostly holes, every part another. */
async function sparseFile(name: string, parts: number): Promise<string> {
  const path = join(robot.home, name)
  const handle = await open(path, 'w')
  await handle.truncate(parts * SMALLEST_PART)
  for (let part = 0; part < parts; part++)
    await handle.write(`part ${part} of a recording`, part * SMALLEST_PART + 1000)
  await handle.close()
  return path
}
