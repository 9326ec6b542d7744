import assert from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import { systemCode } from '../src/errors.ts'
import { bounded } from './support/bounded.ts'
import { type Service, startService } from './support/service.ts'
import { type ModelFile, type ModelSession, makeFile, namings, sendings } from './support/session-model.ts'
import { compare, completeAtOnce, create, missingOf, putAtOnce, remove } from './support/session-walk.ts'

// Random walks through the lives of sessions. Each step is taken on the service and on a model of a few
// lines; afterwards both must tell the same.

const SEED = 31_415
const WALKS = 25
const MAX_STEPS = 24
const TIME_LIMIT_MS = 25_000

/** Counted from the newest: most steps go on with the same session, so that it gets somewhere. */
const session = fc.constantFrom(0, 0, 0, 1, 2)
const does = <Word extends string>(word: Word) => fc.constant(word)
const anyPut = fc.record({ part: fc.nat(), sending: fc.constantFrom(...sendings) })
const wholePut = fc.record({ part: fc.nat(), sending: fc.constantFrom('right', 'other') })
const steps = {
  create: fc.record({
    does: does('create'),
    file: fc.nat(),
    declares: fc.constantFrom('right', 'right', 'right', 'other'),
  }),
  put: fc.record({ does: does('put'), session, puts: fc.tuple(anyPut) }),
  putAtOnce: fc.record({
    does: does('put'),
    session,
    puts: fc.array(wholePut, { minLength: 2, maxLength: 4 }),
  }),
  putMissing: fc.record({ does: does('put missing'), session }),
  complete: fc.record({
    does: does('complete'),
    session,
    naming: fc.constantFrom('as received', 'as received', 'as in the file', ...namings),
    times: fc.constantFrom(1, 1, 3),
  }),
  remove: fc.record({ does: does('remove'), session }),
  restart: fc.record({ does: does('restart') }),
}
const step = fc.oneof(
  { weight: 3, arbitrary: steps.create },
  { weight: 4, arbitrary: steps.put },
  { weight: 3, arbitrary: steps.putAtOnce },
  { weight: 6, arbitrary: steps.putMissing },
  { weight: 7, arbitrary: steps.complete },
  { weight: 1, arbitrary: steps.remove },
  { weight: 1, arbitrary: steps.restart },
)
const walk = fc
  .tuple(steps.create, fc.array(step, { maxLength: MAX_STEPS, size: 'max' }))
  .map(([first, others]) => [first, ...others])
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never

let service: Service
let files: ModelFile[]
before(async () => {
  service = await startService()
  files = [makeFile(2, 1), makeFile(3, 2)]
})
after(() => service.close())

test('the service answers every step of a random walk as the model does', async () => {
  const agrees = bounded(TIME_LIMIT_MS, async (taken: Step[]) => {
    const sessions: ModelSession[] = []
    for (const next of taken) await take(sessions, next)
    await removeAll(sessions)
  })
  await fc.assert(fc.asyncProperty(walk, agrees), { seed: SEED, numRuns: WALKS })
})

test('when all sessions are deleted, no file of a part is left', async () => {
  const sessions: ModelSession[] = []
  for (const next of fc.sample(walk, { seed: SEED, numRuns: 3 }).flat()) await take(sessions, next)
  assert.notDeepEqual(await storedFiles(), [], 'the walk has stored nothing')
  await removeAll(sessions)
  const deadlineMs = Date.now() + 30_000
  let left = await storedFiles()
  while (left.length > 0 && Date.now() < deadlineMs) {
    await sleep(20)
    left = await storedFiles()
  }
  assert.deepEqual(left, [])
})

async function take(sessions: ModelSession[], next: Step): Promise<void> {
  if (next.does === 'restart') return restart(sessions)
  const touched =
    next.does === 'create' ? await begin(sessions, next) : sessions.at(-1 - (next.session % sessions.length))
  if (!touched) return
  switch (next.does) {
    case 'create':
      break
    case 'put':
      await putAtOnce(service, touched, next.puts)
      break
    case 'put missing':
      await putAtOnce(service, touched, missingOf(touched))
      break
    case 'complete':
      await completeAtOnce(service, touched, next.naming, next.times)
      break
    case 'remove':
      await remove(service, touched)
      // To the end of the line: most steps go on with one that is alive.
      sessions.unshift(...sessions.splice(sessions.indexOf(touched), 1))
      break
    default:
      throw new Error(JSON.stringify(next satisfies never))
  }
  await compare(service, touched)
}

async function begin(
  sessions: ModelSession[],
  { file, declares }: { file: number; declares: 'right' | 'other' },
): Promise<ModelSession> {
  const made = await create(service, files[file % files.length] ?? assert.fail(), declares)
  sessions.push(made)
  return made
}

async function restart(sessions: ModelSession[]): Promise<void> {
  await service.restart()
  for (const each of sessions) await compare(service, each)
}

async function removeAll(sessions: ModelSession[]): Promise<void> {
  for (const each of sessions) await remove(service, each)
}

/** A folder that is removed while we look counts as one that is still there. */
async function storedFiles(): Promise<string[]> {
  const root = join(service.dataDir, 'recordings')
  try {
    const entries = await readdir(root, { recursive: true, withFileTypes: true })
    return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return ['changing']
    throw error
  }
}
