import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { SIGNATURE_TOLERANCE_S } from '@tapedeck/contract'
import { sign } from '../../src/webhooks/sign.ts'
import { startReceiver } from '../support/receiver.ts'
import { startService } from '../support/service.ts'
import { createEndpoint, ping, rotateSecret } from '../support/webhooks.ts'

// The verifiers of docs/webhooks.md, as a reader would paste them, run on the bytes that receivers get.

const docs = readFileSync(join(import.meta.dirname, '../../../../docs/webhooks.md'), 'utf8')
const SECRET = 'whsec_7tq0vXo2m9B4s1Zk8pR5cJ6wYhN3uEaD'
const BODY = '{"id":"evt_1","object":"event","data":{"object":{"note":"Straße 二"}}}'

let dir = ''
before(() => {
  dir = mkdtempSync(join(tmpdir(), 'tapedeck-verifiers-'))
  writeFileSync(
    join(dir, 'verify.ts'),
    `${blockOf('ts')}
    import { readFileSync } from 'node:fs'
    const [path = '', header = '', secret = ''] = process.argv.slice(2)
    process.exit(verify(readFileSync(path), header, secret) ? 0 : 1)`,
  )
  writeFileSync(
    join(dir, 'verify.py'),
    `${blockOf('python')}
import sys
sys.exit(0 if verify(open(sys.argv[1], "rb").read(), sys.argv[2], sys.argv[3]) else 1)`,
  )
  writeFileSync(join(dir, 'verify.sh'), `${blockOf('sh')}\nverify "$@"`)
})
after(() => rmSync(dir, { recursive: true }))

/** The block of this language that defines `verify`. */
function blockOf(language: string): string {
  const blocks = [...docs.matchAll(/^```(\w+)\n(.*?)^```$/gms)]
  return blocks.find(([, name, code]) => name === language && code?.includes('verify('))?.[2] ?? assert.fail()
}

const python = spawnSync('python3', ['--version']).status === 0
const commands: Record<string, { command: string[]; skip?: string | false }> = {
  TypeScript: { command: [process.execPath, '--disable-warning=ExperimentalWarning', 'verify.ts'] },
  Python: { command: ['python3', 'verify.py'], skip: !python && 'there is no python3 on this machine' },
  shell: { command: ['sh', 'verify.sh'] },
}

/** Whether the verifier accepts; what ends in any other way than a plain yes or no is a fault of it. */
function accepts(language: string, body: string, header: string, secret: string): boolean {
  const path = join(dir, 'body.json')
  writeFileSync(path, body)
  const [program = '', ...args] = commands[language]?.command ?? []
  const { status, stderr } = spawnSync(program, [...args, path, header, secret], {
    cwd: dir,
    encoding: 'utf8',
  })
  assert.equal(stderr, '')
  assert.ok(status === 0 || status === 1, `ended with ${status}`)
  return status === 0
}

const signedAt = (secrets: string[], agoS = 0) => sign(BODY, secrets, Date.now() - agoS * 1000)

for (const [language, { skip = false }] of Object.entries(commands)) {
  test(`the documented verifier in ${language} accepts what the service sends, in a rotation too`, {
    skip,
  }, async (t) => {
    const service = await startService()
    t.after(() => service.close())
    const receiver = await startReceiver(t)
    const { id, secret } = await createEndpoint(service, receiver.url)
    await ping(service, id)
    const [first = assert.fail()] = await receiver.arrived(1)
    assert.ok(accepts(language, first.body, String(first.headers['service-signature']), secret))
    const rotated = await rotateSecret(service, id)
    await ping(service, id)
    const [, second = assert.fail()] = await receiver.arrived(2)
    for (const either of [secret, rotated.secret])
      assert.ok(accepts(language, second.body, String(second.headers['service-signature']), either))
  })

  test(`the documented verifier in ${language} refuses all else`, { skip }, () => {
    const genuine = signedAt([SECRET])
    assert.ok(accepts(language, BODY, genuine, SECRET))
    const wrong: [what: string, body: string, header: string, secret: string][] = [
      ['another body', `${BODY} `, genuine, SECRET],
      ['another secret', BODY, genuine, `${SECRET}x`],
      ['another time', BODY, genuine.replace(/t=\d+/, `t=${Math.floor(Date.now() / 1000) + 7}`), SECRET],
      ['one kept back', BODY, signedAt([SECRET], SIGNATURE_TOLERANCE_S + 5), SECRET],
      // It comes nearer while the others are tried.
      ['one from the future', BODY, signedAt([SECRET], -SIGNATURE_TOLERANCE_S - 600), SECRET],
      ['no header', BODY, '', SECRET],
      ['no time', BODY, genuine.replace(/^t=\d+,/, ''), SECRET],
      ['a time that is none', BODY, genuine.replace(/^t=\d+/, 't=now'), SECRET],
      ['no signature', BODY, genuine.replace(/,v1=.*/, ''), SECRET],
      ['half a signature', BODY, genuine.slice(0, -32), SECRET],
      ['a signature beyond ASCII', BODY, genuine.replace(/v1=.*/, 'v1=ü'), SECRET],
      ['another scheme', BODY, genuine.replace('v1=', 'v0='), SECRET],
    ]
    assert.deepEqual(
      wrong
        .filter(([, body, header, secret]) => accepts(language, body, header, secret))
        .map(([what]) => what),
      [],
    )
  })
}
