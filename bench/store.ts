import { hash, randomBytes } from 'node:crypto'
import { checksumHeaders, openS3 } from '../packages/server/src/storage/s3/store.ts'
import type { Report } from './report.ts'
import { requestHead } from './support/connection.ts'
import { type Contestant, nginx, tus } from './support/peers.ts'
import { presignPut } from './support/presign.ts'
import {
  completeSession,
  createSession,
  makeRecording,
  type Recording,
  sendAll,
  uploadParts,
} from './support/recording.ts'
import { inRounds, median, secondsOf } from './support/rounds.ts'
import { call, pauseProcessing } from './support/service.ts'
import { type SharedService, startSharedService, storeOf, untilNoObjects } from './support/shared-service.ts'
import type { Stage } from './support/stage.ts'

const ROUNDS = 5
const PARTS = 16
/** A store on a developer's machine takes no larger objects. */
const PART_BYTES = 16 * 2 ** 20
const CONNECTIONS = 4

/** How fast parts come in through the endpoint, against the store by itself and others that take files. */
export async function store(stage: Stage): Promise<Report> {
  const recording = makeRecording(PARTS, randomBytes(PART_BYTES))
  const shared = await startSharedService(stage)
  await pauseProcessing(shared)
  const dav = await nginx(stage, recording, CONNECTIONS)
  const contestants = [
    throughService(shared, recording),
    inSessionsOfOnePart(shared, recording),
    bareStore(shared, recording),
    bareStore(shared, recording, checksumHeaders(hash('sha256', recording.block))),
    await tus(stage, recording, CONNECTIONS),
    ...(dav ? [dav] : []),
  ]
  const rounds = await inRounds(
    ROUNDS,
    contestants.map(({ take, clear }) => async () => {
      const seconds = await secondsOf(take)
      await clear()
      return (PARTS * PART_BYTES) / 2 ** 20 / seconds
    }),
  )
  const rate = (index: number) => median(rounds.map((round) => round[index] ?? Number.NaN))
  const figure = (what: string, ours: number, baseline: number) => ({
    what,
    ours: `${rate(ours).toFixed(0)} MiB/s`,
    baseline: `${rate(baseline).toFixed(0)} MiB/s`,
    ratio: median(rounds.map((round) => (round[ours] ?? 0) / (round[baseline] ?? Number.NaN))),
  })
  const { name } = shared.store
  const target = { atLeast: 0.7 }
  return {
    title: `Store: parts into ${name}`,
    story: `${PARTS} parts of 16 MiB, ${CONNECTIONS} at once, median of ${ROUNDS} rounds. The service has its rows in PostgreSQL over TCP and its parts in ${name}; it hashes every part, and the whole file where it has several. Parts of one session that come at once are read again from the store for that. The bare store gets the same bytes by presigned PUT, without any checksum, and with the one that the service sends. The others keep files on the disk of this machine and neither hash nor sync.`,
    figures: [
      { ...figure(`sessions of one part, against ${name} by presigned PUT`, 1, 2), target },
      { ...figure(`parts of one session, against ${name} by presigned PUT`, 0, 2), target },
      figure(
        `sessions of one part, against ${name} by presigned PUT with the checksum that the service sends`,
        1,
        3,
      ),
      figure(
        `parts of one session, against ${name} by presigned PUT with the checksum that the service sends`,
        0,
        3,
      ),
      figure(`${name} itself with that checksum, against without`, 3, 2),
      ...contestants
        .slice(4)
        .map((peer, index) => figure(`parts of one session, against ${peer.name}`, 0, index + 4)),
    ],
    notes: [
      'The store shares the cores with the service and with the load: what the service takes, the store lacks.',
      ...(dav ? [] : ['nginx with its WebDAV module was not on the PATH.']),
    ],
    on: storeOf(shared, 'store'),
  }
}

function throughService(shared: SharedService, recording: Recording): Contestant {
  let session: Awaited<ReturnType<typeof createSession>>
  return {
    name: 'service',
    async take() {
      session = await createSession(shared, recording)
      await uploadParts(session, recording, CONNECTIONS)
    },
    async clear() {
      // Also the proof that every byte came in.
      await completeSession(shared, session, recording)
      await call(shared, 'DELETE', `/v1/sessions/${session.id}`)
      await untilNoObjects(shared)
    },
  }
}

function inSessionsOfOnePart(shared: SharedService, { block }: Recording): Contestant {
  const recording = makeRecording(1, block)
  const sessions: Awaited<ReturnType<typeof createSession>>[] = []
  return {
    name: 'service, sessions of one part',
    async take() {
      const numbers = Array(PARTS).keys()
      await Promise.all(
        Array.from({ length: CONNECTIONS }, async () => {
          for (const _ of numbers) {
            const session = await createSession(shared, recording)
            await uploadParts(session, recording, 1)
            sessions.push(session)
          }
        }),
      )
    },
    async clear() {
      for (const session of sessions.splice(0)) {
        await completeSession(shared, session, recording)
        await call(shared, 'DELETE', `/v1/sessions/${session.id}`)
      }
      await untilNoObjects(shared)
    },
  }
}

function bareStore(
  { store: { name }, bucket }: SharedService,
  { block, parts }: Recording,
  checksum: Record<string, string> = {},
): Contestant {
  const keys = Array.from({ length: parts }, (_, part) => `bare/${part}`)
  return {
    name: `${name} itself, by presigned PUT`,
    take() {
      const headers = { ...checksum, 'Content-Length': block.length }
      const heads = keys.map((key) => requestHead('PUT', presignPut(bucket, key, checksum), headers))
      return sendAll(bucket.endpoint, CONNECTIONS, heads, (connection, head) => connection.send(head, block))
    },
    async clear() {
      const storage = await openS3(bucket)
      await storage.remove(keys)
      storage.close()
    },
  }
}
