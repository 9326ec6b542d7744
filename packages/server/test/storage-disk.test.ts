import assert from 'node:assert/strict'
import { mkdir, mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { openDisk, removeIncoming } from '../src/storage/disk.ts'
import { storageSuite } from './support/storage-suite.ts'

const made: string[] = []
after(() => Promise.all(made.map((dir) => rm(dir, { recursive: true, force: true }))))

async function makeRoot(): Promise<string> {
  const root = await mkdtemp(join(tmpdir(), 'tapedeck-disk-'))
  made.push(root)
  return root
}

storageSuite('disk', async () => {
  const root = await makeRoot()
  const storage = await openDisk(root)
  const list = async () => {
    const entries = await readdir(join(root, 'sessions'), { recursive: true, withFileTypes: true })
    return entries
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1))
      .sort()
  }
  return { storage, list }
})

test('disk: what a killed process was writing is removed, what is younger is not', async () => {
  const root = await makeRoot()
  await openDisk(root)
  const [old, young] = [join(root, 'incoming', 'old'), join(root, 'incoming', 'young')]
  await Promise.all([writeFile(old, 'x'), writeFile(young, 'x')])
  await utimes(old, new Date(0), new Date(0))
  await removeIncoming(root, 3600_000)
  assert.deepEqual(await readdir(join(root, 'incoming')), ['young'])
  await removeIncoming(root, 0)
  assert.deepEqual(await readdir(join(root, 'incoming')), [])
})

test('disk: a shard with more than a page of files is walked in pages, and again from its beginning after one', async () => {
  const root = await makeRoot()
  const storage = await openDisk(root)
  const folder = join(root, 'sessions', '0g', 'one')
  await mkdir(folder, { recursive: true })
  for (let file = 0; file < 1005; file++) await writeFile(join(folder, String(file)), '')
  await mkdir(join(root, 'sessions', '1g', 'two'), { recursive: true })
  await writeFile(join(root, 'sessions', '1g', 'two', 'file'), '')
  const pages = await Array.fromAsync(storage.walk(''))
  assert.deepEqual(
    pages.map(({ objects, place }) => [objects.length, place]),
    [
      [1000, ''],
      [5, 'sessions/0g/'],
      [1, 'sessions/1g/'],
    ],
  )
})
