import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { before, describe, test } from 'node:test'
import { verifyWebhook } from '@tapedeck/sdk'
import { makeSamples } from '../../server/src/sandbox/samples.ts'
import { complete, followSession, recording, uploadAll } from '../../server/test/support/client.ts'
import { endWithFile } from '../../server/test/support/ending.ts'
import { startReceiver } from '../../server/test/support/receiver.ts'
import { type Service, startService } from '../../server/test/support/service.ts'
import { until } from '../../server/test/support/until.ts'
import { openAnnouncements } from '../../server/test/support/webhooks.ts'
import { exitCodes } from '../src/command.ts'
import { commands } from '../src/commands.ts'
import { options } from '../src/usage.ts'
import { type Robot, run, runJson, start } from './remote.ts'

// What the commands say about a service, to people and to programs.

const file = endWithFile()
let service: Service
let robot: Robot
let sessionId: string

before(async () => {
  service = await startService()
  file.after(() => service.close())
  const home = await mkdtemp(join(tmpdir(), 'tapedeck-robot-'))
  file.after(() => rm(home, { recursive: true, force: true }))
  robot = { home, url: service.url, key: service.key }
  const { session, parts } = await uploadAll(service, recording(1), {
    device: 'amr-07',
    filename: 'what.xyz',
  })
  await complete(service, session.id, parts)
  sessionId = session.id
  await followSession(service, session.id)
})

test('devices and segments', async () => {
  const path = join(robot.home, 'calibration.json')
  await writeFile(path, JSON.stringify({ channels: [{ source: '/imu', rate_hz: 100 }] }))
  const { stdout } = await run(robot, ['devices', 'calibrate', 'amr-07', path])
  assert.equal(stdout, 'stored version 1 of the calibration of amr-07\n')
  assert.equal((await runJson(robot, 'devices', 'calibration', 'amr-07')).channels[0].rate_hz, 100)
  const { data } = await runJson(robot, 'devices', 'list')
  assert.ok(data.some((device: { name: string }) => device.name === 'amr-07'))
  assert.deepEqual(
    (await runJson(robot, 'segments', 'search', '--text', 'nothing', '--min-duration', '1.5')).data,
    [],
  )
})

test('sessions: listed, shown, watched to their end, deleted', async () => {
  const { stdout } = await run(robot, ['sessions', 'list', '--device', 'amr-07', '--limit', '1'])
  assert.match(
    stdout,
    new RegExp(`^ID +STATUS +SITE +DEVICE +FILE .*\n${sessionId} +failed +lab +amr-07 +what.xyz `),
  )
  assert.deepEqual((await runJson(robot, 'sessions', 'list', '--status', 'processed')).data, [])
  const shown = await run(robot, ['sessions', 'get', sessionId])
  assert.match(shown.stdout, /^status {4}failed\nid {8}ses_/)
  assert.match(shown.stdout, /\nSEVERITY +ISSUE +CHANNEL +DETAIL\nerror +format_unsupported /)
  const watched = await run(robot, ['sessions', 'watch', sessionId, '--json'])
  assert.deepEqual([watched.code, JSON.parse(watched.stdout).session.status], [3, 'failed'])
  assert.deepEqual(await runJson(robot, 'sessions', 'delete', sessionId), {
    id: sessionId,
    object: 'session',
    deleted: true,
  })
  const gone = await run(robot, ['sessions', 'get', sessionId])
  assert.deepEqual([gone.code, gone.stdout], [1, ''])
  assert.match(gone.stderr, /^tapedeck: there is no session ses_\w+; it may have been deleted\n$/)
})

test('webhooks: from the creation to the deletion', async () => {
  const url = `${service.url}/nothing`
  const made = await runJson(robot, 'webhooks', 'create', url, '--events', 'session.failed,session.processed')
  assert.match(made.secret, /^whsec_/)
  const { status, description } = await runJson(
    robot,
    'webhooks',
    'update',
    made.id,
    '--disabled',
    '--description',
    'x',
  )
  assert.deepEqual([status, description], ['disabled', 'x'])
  await runJson(robot, 'webhooks', 'update', made.id, '--enabled')
  assert.notEqual((await runJson(robot, 'webhooks', 'rotate', made.id)).secret, made.secret)
  const { id: delivery } = await runJson(robot, 'webhooks', 'test', made.id)
  const { stdout } = await run(robot, ['webhooks', 'deliveries', made.id])
  assert.match(stdout, new RegExp(`\n${delivery} +ping `))
  const since = new Date(Date.now() + 3600_000).toISOString()
  assert.equal((await runJson(robot, 'webhooks', 'redeliver', made.id, '--since', since)).count, 0)
  assert.equal((await runJson(robot, 'webhooks', 'delete', made.id)).deleted, true)
})

test('webhooks listen: what happens arrives here, signed', async (t) => {
  const receiver = await startReceiver(t)
  const args = ['webhooks', 'listen', '--forward-to', receiver.url, '--events', 'session.failed', '--json']
  const listening = start(robot, args)
  const lines = () =>
    listening
      .stdout()
      .trim()
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line))
  const { secret } = await until('it listens', async () => lines()[0])
  const announce = await openAnnouncements(t, service)
  await announce('session.processed', { id: 'ses_0' })
  await announce('session.failed', { id: 'ses_1', t_ns: 1 })
  const first = await until('it was forwarded', async () => receiver.delivered[0])
  const event = await verifyWebhook(first.body, first.headers['service-signature']?.toString(), secret)
  assert.deepEqual(event.data.object, { id: 'ses_1', t_ns: 1n })
  const forwarded = await until('it was told', async () => lines()[1])
  assert.deepEqual(forwarded, { event: event.id, type: 'session.failed', status: 200, error: null })
  listening.kill('SIGINT')
  assert.equal((await listening.ended).code, 130)
})

test('doctor finds here what the service would find', async () => {
  const [sample] = makeSamples()
  assert.ok(sample)
  const path = join(robot.home, sample.filename)
  await writeFile(path, sample.bytes)
  const { code, stdout } = await run({ ...robot, url: '', key: '' }, ['doctor', path, '--json'])
  const found = JSON.parse(stdout)
  const { session, parts } = await uploadAll(service, sample.bytes, { filename: sample.filename })
  await complete(service, session.id, parts)
  const { channels, issues, segment_count } = await followSession(service, session.id)
  assert.deepEqual(
    {
      channels: found.channels.map(({ name }: { name: string }) => name).sort(),
      issues: found.issues.map(({ code, channel }: { code: string; channel: string }) => [code, channel]),
      segment_count: found.segment_count,
    },
    {
      channels: [...channels].sort(),
      issues: issues.map(({ code, channel }) => [code, channel]),
      segment_count,
    },
  )
  const hasErrors = issues.some(({ severity }) => severity === 'error')
  assert.equal(code, hasErrors ? 3 : 0)
  const nonsense = join(robot.home, 'nonsense.xyz')
  await writeFile(nonsense, 'nothing that anybody knows')
  const unreadable = await run(robot, ['doctor', nonsense, join(robot.home, 'nowhere')])
  assert.equal(unreadable.code, 3)
  assert.match(unreadable.stdout, /nothing can be read \(unknown format\)/)
  assert.match(unreadable.stderr, /^tapedeck: [^\n]+nowhere[^\n]+\n$/)
})

describe('login', () => {
  test('keeps a key that works, for the eyes of its owner alone', async () => {
    const own = { ...robot, url: '', key: '' }
    const { code, stdout, stderr } = await run(own, ['login', '--url', service.url], {}, `${service.key}\n`)
    assert.deepEqual([code, stderr], [0, ''])
    const path = join(robot.home, '.config', 'tapedeck', 'login.json')
    assert.equal(stdout, `logged in at ${service.url}; kept in ${path}\n`)
    assert.equal((await stat(path)).mode & 0o777, 0o600)
    assert.equal((await run(own, ['sessions', 'list'])).code, 0)
  })

  test('keeps none that does not', async () => {
    const home = join(robot.home, 'other')
    const { code, stderr } = await run({ home, url: service.url, key: '' }, ['login'], {}, 'svc_live_x\n')
    assert.equal(code, 1)
    assert.match(stderr, /^tapedeck: the API key is not known/)
    await assert.rejects(stat(join(home, '.config')))
  })
})

test('completion knows every command, for every shell', async () => {
  const { stdout } = await run(robot, ['completion', 'bash'])
  const script = `${stdout}\nCOMP_WORDS=(tapedeck upload --pa); COMP_CWORD=2; _tapedeck; echo "\${COMPREPLY[@]}"`
  const { stdout: completed } = spawnSync('bash', ['-c', script], { encoding: 'utf8' })
  assert.equal(completed, '--parallel --part-size\n')
  for (const name of Object.keys(commands)) assert.ok(stdout.includes(`    ${name}) words=`), name)
  assert.match((await run(robot, ['completion', 'fish'])).stdout, /-a upload -d 'upload recordings'/)
  assert.equal((await run(robot, ['completion', 'cmd'])).code, 2)
})

test('every option belongs to a command, and every command has its help', () => {
  const used = new Set(Object.values(commands).flatMap((command) => command.options))
  const all = Object.keys(options).filter((name) => name !== 'help' && name !== 'json')
  assert.deepEqual(all.sort(), [...used].sort())
  for (const { usage, examples, options: own } of Object.values(commands)) {
    assert.ok(examples.length > 0)
    const told = usage.flat().join(' ')
    for (const name of own) assert.ok(told.includes(`--${name}`) || name === 'url' || name === 'limit', name)
  }
})

test('docs/cli.md knows every command, every verb, every option and every exit code', async () => {
  const docs = await readFile('docs/cli.md', 'utf8')
  for (const [name, { verbs, options: own }] of Object.entries(commands)) {
    const row = docs
      .split('\n')
      .filter((line) => line.startsWith(`| \`${name}`))
      .join('\n')
    assert.ok(row !== '', name)
    for (const verb of verbs) assert.match(row, new RegExp(`\\b${verb}\\b`), `${name} ${verb}`)
    for (const option of own) {
      const isTold =
        docs.includes(`--${option}`) || commands[name]?.usage.flat().join(' ').includes(`--${option}`)
      assert.ok(isTold, `${name} --${option}`)
    }
  }
  const codes = [...docs.matchAll(/^\| (\d+) \| (.*) \|$/gm)].map(([, code, meaning]) => [code, meaning])
  assert.deepEqual(Object.fromEntries(codes), { ...exitCodes })
})
