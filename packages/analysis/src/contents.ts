import type { ChannelInfo, Decode, ReadStamp } from '@tapedeck/formats'
import { openDecoder, stampReader } from '@tapedeck/formats'
import type { Kind } from './channel-names.ts'
import type { Pair } from './clock.ts'
import { openCameraCheck } from './content-camera.ts'
import type { ContentCheck } from './content-check.ts'
import { openImuCheck } from './content-imu.ts'
import { openLogCheck } from './content-log.ts'
import type { TransformTree } from './content-transforms.ts'
import { openFiniteCheck } from './content-values.ts'
import { type FoundIssue, issue } from './issue.ts'

// What the messages themselves say: the stamp of each that is shown, and the values of some. Decoding waits until
// the scan is over, because it may need a library that is loaded only then; samples are kept up to a limit.

export type Contents = {
  see(t: number, payload: Uint8Array): void
  pairs(): Pair[]
  /** Decodes the samples that were kept. */
  issues(): Promise<FoundIssue[]>
}

const MAX_PAIRS = 8_192
const MAX_SAMPLES = 400
const MAX_SAMPLE_BYTES = 4 << 20
const MAX_ALL_SAMPLE_BYTES = 64 << 20
const decodedKinds = new Set<Kind>([
  'camera',
  'imu',
  'gps',
  'joints',
  'pose',
  'odometry',
  'transforms',
  'wrench',
  'command',
  'log',
])

export type SampleBudget = { bytes: number }

export function openBudget(): SampleBudget {
  return { bytes: MAX_ALL_SAMPLE_BYTES }
}

export function openContents(
  info: ChannelInfo,
  kind: Kind,
  originUnixNs: () => bigint,
  budget: SampleBudget,
  tree: TransformTree,
): Contents {
  const readStamp: ReadStamp | undefined = stampReader(info)
  const camera = kind === 'camera' || kind === 'depth' ? openCameraCheck() : undefined
  let pairs: Pair[] = []
  let every = 1
  let seen = 0
  const samples: { t: number; payload: Uint8Array }[] = []

  /** Pairs are thinned like times are: every second one goes when there are too many. */
  function addPair(t: number, payload: Uint8Array): void {
    if (seen++ % every !== 0 || !readStamp) return
    const stamp = readStamp(payload)
    if (stamp === undefined) return
    pairs.push({ t, stamp: Number(stamp - originUnixNs()) })
    if (pairs.length < MAX_PAIRS) return
    pairs = pairs.filter((_, index) => index % 2 === 0)
    every *= 2
  }

  function keepSample(t: number, payload: Uint8Array): void {
    if (!decodedKinds.has(kind) || samples.length >= MAX_SAMPLES) return
    if (payload.length > MAX_SAMPLE_BYTES || payload.length > budget.bytes) return
    budget.bytes -= payload.length
    samples.push({ t, payload: payload.slice() })
  }

  return {
    see(t, payload) {
      addPair(t, payload)
      camera?.seeBytes(t, payload)
      keepSample(t, payload)
    },
    pairs: () => pairs,
    async issues() {
      const checks = checksFor(kind, tree)
      const decode = samples.length > 0 && (checks.length > 0 || camera) ? await openDecoder(info) : undefined
      const undecodable = decode ? decodeAll(decode, samples, [...checks, ...(camera ? [camera] : [])]) : []
      return [...undecodable, ...checks.flatMap((check) => check.finish()), ...(camera?.finish() ?? [])]
    },
  }
}

function checksFor(kind: Kind, tree: TransformTree): ContentCheck[] {
  switch (kind) {
    case 'imu':
      return [openImuCheck(), openFiniteCheck()]
    case 'gps':
    case 'joints':
    case 'pose':
    case 'odometry':
    case 'wrench':
    case 'command':
      return [openFiniteCheck()]
    case 'transforms':
      return [tree.check()]
    case 'log':
      return [openLogCheck()]
    default:
      return []
  }
}

function decodeAll(
  decode: Decode,
  samples: { t: number; payload: Uint8Array }[],
  checks: ContentCheck[],
): FoundIssue[] {
  let [failed, firstT, reason]: [number, number | undefined, string] = [0, undefined, '']
  for (const { t, payload } of samples) {
    try {
      const message = decode(payload)
      for (const check of checks) check.see(t, message, payload)
    } catch (error) {
      failed++
      firstT ??= t
      reason ||= error instanceof Error ? error.message.slice(0, 120) : ''
    }
  }
  if (failed === 0) return []
  return [
    issue('messages_undecodable', {
      severity: failed === samples.length ? 'error' : 'warning',
      detail: `${failed} of ${samples.length} messages that were looked at do not fit their definition (${reason})`,
      t: firstT,
      count: failed,
    }),
  ]
}
