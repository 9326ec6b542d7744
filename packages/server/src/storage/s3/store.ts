import { randomBytes } from 'node:crypto'
import { newNonce } from '../../ids.ts'
import { folderOf, newObjectName } from '../object-name.ts'
import {
  type NewPart,
  ObjectLost,
  type Page,
  type PartWriter,
  type Storage,
  StorageUnavailable,
  type StoredObject,
} from '../storage.ts'
import type { S3Response } from './answer.ts'
import { contentMd5, openClient, Refused, type S3Client, type S3Settings } from './client.ts'
import { openPut } from './put.ts'
import { elementsOf, textOf, withEntities } from './xml.ts'

// Parts as objects of an S3-compatible store, under the names that they have on a disk. A part goes there with the
// SHA-256 that its client announced as the store's own checksum, which is kept with the object; and where the store does not
// compare that, signed as the SHA-256 of the body too. So the store compares, where it can; we have hashed every byte in any case.

/** Stores take 1000 in one request, but a slow one is silent over so many for longer than we listen. */
const DELETE_BATCH = 250
export const PROBES = 'probes/'
/** Says that the signature does not name the body. */
export const UNSIGNED = 'UNSIGNED-PAYLOAD'

export async function openS3(settings: S3Settings): Promise<Storage> {
  const client = await openClient(settings)
  return {
    openPart: (part) => openPart(client, part, settings.comparesChecksums ?? false),
    read: (object, offset, length) => read(client, object, offset, length),
    remove: (objects) => remove(client, objects),
    async removeSession(sessionId) {
      for await (const { objects } of list(client, folderOf(sessionId)))
        await remove(client, namesOf(objects))
    },
    walk: (place) => list(client, 'sessions/', place),
    async removeLeftovers(ageMs) {
      for await (const { objects } of list(client, PROBES))
        await remove(client, namesOf(objects.filter((object) => object.ageMs >= ageMs)))
    },
    probe: () => probe(client),
    close: () => client.close(),
  }
}

async function openPart(client: S3Client, part: NewPart, comparesChecksums: boolean): Promise<PartWriter> {
  const object = newObjectName(part)
  const request = {
    method: 'PUT',
    key: object,
    headers: checksumHeaders(part.sha256),
    bodySha256: comparesChecksums ? UNSIGNED : part.sha256,
  }
  const put = await openPut(await client.signed(request), part.bytes)
  let finishing = false
  return {
    write: put.write,
    async keep() {
      finishing = true
      const answer = await put.finish()
      if (answer.status === 200) return object
      const { message } = new Refused('a part', answer)
      throw new StorageUnavailable(`${message}; nothing was kept, send the part again`)
    },
    async discard() {
      put.abort()
      // The store may have all of it although we were not told.
      if (finishing) await remove(client, [object])
    },
  }
}

/** Ceph compares only where the algorithm is named too. */
export function checksumHeaders(sha256: string): Record<string, string> {
  return {
    'x-amz-checksum-sha256': Buffer.from(sha256, 'hex').toString('base64'),
    'x-amz-sdk-checksum-algorithm': 'SHA256',
  }
}

async function read(client: S3Client, key: string, offset: number, length: number): Promise<Uint8Array> {
  if (length === 0) return new Uint8Array()
  const headers = { range: `bytes=${offset}-${offset + length - 1}` }
  try {
    const { body } = await client.send({ method: 'GET', key, headers })
    if (body.length === length) return body
    throw new ObjectLost(`${key} has ${body.length} of the ${length} bytes at ${offset}`)
  } catch (error) {
    if (!(error instanceof Refused)) throw error
    if (error.code === 'NoSuchKey' || error.status === 416)
      throw new ObjectLost(`${key} does not have the ${length} bytes at ${offset}`, { cause: error })
    throw new StorageUnavailable(error.message, { cause: error })
  }
}

async function remove(client: S3Client, objects: string[]): Promise<void> {
  for (let start = 0; start < objects.length; start += DELETE_BATCH) {
    const keys = objects.slice(start, start + DELETE_BATCH)
    const items = keys.map((key) => `<Object><Key>${withEntities(key)}</Key></Object>`).join('')
    const body = Buffer.from(`<Delete><Quiet>true</Quiet>${items}</Delete>`)
    const headers = { 'content-md5': contentMd5(body), 'content-type': 'application/xml' }
    const answer = await refusedAsUnavailable(
      client.send({ method: 'POST', query: { delete: '' }, headers, body }),
    )
    const fault = elementsOf(answer.body.toString(), 'Error').find(
      (error) => textOf(error, 'Code') !== 'NoSuchKey',
    )
    if (fault) throw new StorageUnavailable(`the store does not remove: ${textOf(fault, 'Code')}`)
  }
}

/** What is below a prefix and behind a name, in the order of names, a page at a time. */
async function* list(client: S3Client, prefix: string, after = ''): AsyncIterable<Page> {
  for (let place = after, isMore = true; isMore; ) {
    const query: Record<string, string> = { 'list-type': '2', prefix, ...(place && { 'start-after': place }) }
    const answer: S3Response = await refusedAsUnavailable(client.send({ method: 'GET', query }))
    const xml = answer.body.toString()
    // Both times are the store's: what our clock says does not matter.
    const now = Date.parse(answer.headers.date ?? '') || Date.now()
    const objects = elementsOf(xml, 'Contents').map((entry) => ({
      name: textOf(entry, 'Key') ?? '',
      // What has no time is new.
      ageMs: now - Date.parse(textOf(entry, 'LastModified') ?? '') || 0,
    }))
    const last = objects.at(-1)?.name
    if (last === undefined) return
    if (last === place) throw new StorageUnavailable('the store lists the same names again and again')
    yield { objects, place: last }
    place = last
    isMore = textOf(xml, 'IsTruncated') === 'true'
  }
}

const namesOf = (objects: StoredObject[]): string[] => objects.map(({ name }) => name)

async function refusedAsUnavailable<T>(asked: Promise<T>): Promise<T> {
  try {
    return await asked
  } catch (error) {
    throw error instanceof Refused ? new StorageUnavailable(error.message, { cause: error }) : error
  }
}

async function probe(client: S3Client): Promise<void> {
  const key = `${PROBES}${newNonce()}`
  const body = randomBytes(16)
  await refusedAsUnavailable(client.send({ method: 'PUT', key, body }))
  try {
    const found = await read(client, key, 0, body.length)
    if (!body.equals(found)) throw new StorageUnavailable('the store does not give back what was written')
  } finally {
    await remove(client, [key])
  }
}
