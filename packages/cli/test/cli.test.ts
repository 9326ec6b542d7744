import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { type EmbeddedPostgres, startEmbedded } from '../../server/src/db/embedded/start.ts'
import { tempDir } from '../../server/test/embedded/temp-dir.ts'
import { tapedeck, tapedeckJson } from './tapedeck.ts'

// The command on a data directory. The PostgreSQL in it is ours, so that not every command has to start one.

let dataDir: string
let postgres: EmbeddedPostgres
before(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'tapedeck-cli-'))
  postgres = await startEmbedded(dataDir)
  await tapedeckJson(dataDir, 'orgs', 'create', 'acme')
})
after(async () => {
  await postgres.stop()
  await rm(dataDir, { recursive: true, force: true, maxRetries: 5 })
})

describe('tapedeck orgs', () => {
  test('invite prints a link to the console, for a role', async () => {
    const { url, role } = await tapedeckJson(dataDir, 'orgs', 'invite', 'acme', '--role', 'viewer')
    assert.match(String(url), /^http:\/\/127\.0\.0\.1:8420\/console\/join#[0-9a-v]{32}$/)
    assert.equal(role, 'viewer')
  })

  test('an organisation that was made is listed', async () => {
    const made = await tapedeckJson(dataDir, 'orgs', 'create', 'globex')
    assert.deepEqual(Object.keys(made), ['id', 'name', 'created_at'])
    const { data } = await tapedeckJson(dataDir, 'orgs', 'list')
    assert.deepEqual(
      data.find((org: { name: string }) => org.name === 'globex'),
      made,
    )
  })

  test('people get a table', async () => {
    const { stdout } = await tapedeck(dataDir, ['orgs', 'list'])
    assert.match(stdout, /^NAME +ID +CREATED\nacme +org_\w+ +\d{4}-\S+Z\n/)
  })
})

describe('tapedeck keys', () => {
  test('a new key is one JSON object with exactly the key and what it is', async () => {
    const made = await tapedeckJson(dataDir, 'keys', 'create', '--org', 'acme', '--permissions', 'read')
    assert.deepEqual(Object.keys(made), ['key', 'id', 'organisation', 'permissions'])
    assert.match(made.key, /^svc_live_[0-9a-v]{32}$/)
    assert.match(made.id, /^key_/)
    assert.deepEqual([made.organisation, made.permissions], ['acme', ['read']])
  })

  test('people get the key alone on the first line, so that it can be copied', async () => {
    const { stdout } = await tapedeck(dataDir, ['keys', 'create', '--org', 'acme', '--name', 'laptop'])
    assert.match(stdout, /^svc_live_[0-9a-v]{32}\n\n.*read,write.*only this once\.\n$/)
  })

  test('a test key is a key of the sandbox', async () => {
    const { key } = await tapedeckJson(dataDir, 'keys', 'create', '--org', 'acme', '--test')
    assert.match(key, /^svc_test_/)
  })

  test('a list tells all of a key but the key', async () => {
    const made = await tapedeckJson(dataDir, 'keys', 'create', '--org', 'acme', '--name', 'robot')
    const { stdout } = await tapedeck(dataDir, ['keys', 'list', '--org', 'acme', '--json'])
    assert.ok(!stdout.includes(made.key.slice('svc_live_'.length)))
    const listed = JSON.parse(stdout).data.find(({ id }: { id: string }) => id === made.id)
    const { created_at, ...told } = listed
    assert.ok(Math.abs(Date.parse(created_at) - Date.now()) < 600_000)
    assert.deepEqual(told, {
      id: made.id,
      organisation: 'acme',
      name: 'robot',
      mode: 'live',
      permissions: ['read', 'write'],
      last_used_at: null,
      revoked_at: null,
    })
  })

  test('a revoked key is listed with the time of its end', async () => {
    const { id } = await tapedeckJson(dataDir, 'keys', 'create', '--org', 'acme')
    assert.deepEqual(await tapedeckJson(dataDir, 'keys', 'revoke', id), { id, revoked: true })
    const { data } = await tapedeckJson(dataDir, 'keys', 'list')
    const listed = data.find((key: { id: string }) => key.id === id)
    assert.ok(Date.parse(listed.revoked_at) >= Date.parse(listed.created_at))
  })
})

test('processing can be paused and resumed', async () => {
  assert.deepEqual(await tapedeckJson(dataDir, 'processing', 'pause'), { paused: true, waiting: 0 })
  assert.deepEqual(await tapedeckJson(dataDir, 'processing', 'resume'), { paused: false, waiting: 0 })
})

test('commands at the same time all work while no service runs: servers come and go between them', async (t) => {
  const ownDir = tempDir(t)
  for (let round = 1; round <= 3; round++) {
    const names = ['a', 'b', 'c'].map((letter) => `${letter}${round}`)
    const results = await Promise.all(names.map((name) => tapedeck(ownDir, ['orgs', 'create', name])))
    assert.deepEqual(
      results.map(({ code, stderr }) => ({ code, stderr })),
      names.map(() => ({ code: 0, stderr: '' })),
      `round ${round}`,
    )
  }
})

test('help is printed when asked for and when nothing is asked', async () => {
  const asked = await tapedeck(dataDir, ['--help'])
  assert.deepEqual([asked.code, asked.stderr], [0, ''])
  assert.match(asked.stdout, /Exit codes: 0 done, 1 failed, 2 used wrongly, 3 [^\n]+, 130 interrupted\.\n$/)
  assert.deepEqual(await tapedeck(dataDir, []), asked)
})

const wrongUses: [args: string[], says: RegExp][] = [
  [['robots'], /there is no command robots; see: tapedeck --help/],
  [['orgs'], /orgs has create, list and invite, not nothing/],
  [['orgs', 'invite', 'acme', '--role', 'king'], /--role is owner, member or viewer, not king/],
  [['orgs', 'create'], /expected NAME, found none/],
  [['orgs', 'create', 'one', 'two'], /expected NAME, found one two/],
  [['keys', 'create'], /keys create needs --org NAME/],
  [['keys', 'create', '--org', 'acme', '--permissions', 'write'], /--permissions is read or read,write/],
  [['keys', 'make'], /keys has create, list and revoke, not make/],
  [['processing', 'stop'], /processing has pause and resume, not stop/],
  [['keys', 'list', '--nope'], /Unknown option '--nope'/],
]
for (const [args, says] of wrongUses) {
  test(`tapedeck ${args.join(' ')}: one line, exit code 2`, async () => {
    await assertFails(args, 2, says)
  })
}

const failures: [args: string[], says: RegExp][] = [
  [['orgs', 'create', 'acme'], /there is already an organisation acme/],
  [['orgs', 'create', 'Not A Name'], /the name of an organisation has 1 to 63 of .*"Not A Name"/],
  [['keys', 'create', '--org', 'nobody'], /there is no organisation nobody; see: tapedeck orgs list/],
  [['keys', 'revoke', 'key_none'], /there is no key key_none; see: tapedeck keys list/],
]
for (const [args, says] of failures) {
  test(`tapedeck ${args.join(' ')}: one line, exit code 1`, async () => {
    await assertFails(args, 1, says)
  })
}

test('a wrong setting is named, with exit code 2', async () => {
  await assertFails(['orgs', 'list'], 2, /DATABASE_URL must begin with postgres/, {
    DATABASE_URL: 'mysql://x',
  })
})

test('a database that is not there is one line and exit code 1', async () => {
  const env = { DATABASE_URL: 'postgres://nobody@127.0.0.1:1/nothing' }
  await assertFails(['orgs', 'list'], 1, /ECONNREFUSED/, env)
})

async function assertFails(args: string[], code: number, says: RegExp, env = {}): Promise<void> {
  const result = await tapedeck(dataDir, args, env)
  assert.deepEqual({ code: result.code, stdout: result.stdout }, { code, stdout: '' }, result.stderr)
  assert.match(result.stderr, /^tapedeck: [^\n]+\n$/)
  assert.match(result.stderr, says)
}
