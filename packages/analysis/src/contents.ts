import type { ChannelKind } from '@tapedeck/contract/kinds'
import type { ChannelInfo, Decode } from '@tapedeck/formats'
import { openDecoder, stampReader } from '@tapedeck/formats'
import type { Pair } from './clock.ts'
import { openBlackCheck, openFrozenCheck } from './content-camera.ts'
import type { ContentCheck } from './content-check.ts'
import { openImuCheck } from './content-imu.ts'
import { openLogCheck } from './content-log.ts'
import type { TransformTree } from './content-transforms.ts'
import { openFiniteCheck } from './content-values.ts'
import { openDropCheck } from './drops.ts'
import { type FoundIssue, issue } from './issue.ts'
import { openSamples, type Sample, type SampleBudget } from './samples.ts'

// What the messages themselves say: the stamp of each that is shown, and the values of some. Decoding waits until
// the scan is over, because it may need a library that is loaded only then.

export type Contents = {
  /** The content of the message with this number in its channel. */
  see(t: number, payload: Uint8Array, ordinal: number): void
  pairs(): Pair[]
  /** Decodes the samples that were kept. */
  issues(): Promise<FoundIssue[]>
}

const MAX_PAIRS = 8_192

export function openContents(
  info: ChannelInfo,
  kind: ChannelKind,
  originUnixNs: () => bigint,
  budget: SampleBudget,
  tree: TransformTree,
): Contents {
  const readStamp = stampReader(info)
  const checks = checksFor(info, kind, tree)
  const frozen = kind === 'camera' || kind === 'depth' ? openFrozenCheck() : undefined
  const drops = openDropCheck()
  const samples = checks.length > 0 ? openSamples(kind, budget) : undefined
  let pairs: Pair[] = []
  let every = 1
  let seen = 0
  let origin: { seconds: number; nanoseconds: number } | undefined

  /** Without a bigint for each message: exact as far as times are. */
  function fromOrigin(seconds: number, nanoseconds: number): number {
    origin ??= {
      seconds: Number(originUnixNs() / 1_000_000_000n),
      nanoseconds: Number(originUnixNs() % 1_000_000_000n),
    }
    return (seconds - origin.seconds) * 1e9 + (nanoseconds - origin.nanoseconds)
  }

  /** Pairs are thinned like times are: every second one goes when there are too many. */
  function addPair(t: number, stamp: number): void {
    if (seen++ % every !== 0) return
    pairs.push({ t, stamp })
    if (pairs.length < MAX_PAIRS) return
    pairs = pairs.filter((_, index) => index % 2 === 0)
    every *= 2
  }

  return {
    see(t, payload, ordinal) {
      const read = readStamp?.(payload)
      if (read) {
        const stamp = fromOrigin(read.seconds, read.nanoseconds)
        addPair(t, stamp)
        drops.see({ t, stamp, ordinal, sequence: read.sequence })
      }
      frozen?.see(t, payload)
      samples?.offer(t, payload)
    },
    pairs: () => pairs,
    async issues() {
      const kept = samples?.kept() ?? []
      const decode = kept.length > 0 ? await openDecoder(info) : undefined
      const undecodable = decode ? decodeAll(decode, kept, checks) : []
      const latched = info.latched ?? false
      return [
        ...undecodable,
        ...checks.flatMap((check) => check.finish()),
        ...(frozen?.finish() ?? []),
        ...(latched ? [] : drops.issues()),
      ]
    },
  }
}

function checksFor({ schema }: ChannelInfo, kind: ChannelKind, tree: TransformTree): ContentCheck[] {
  switch (kind) {
    case 'imu':
      return [openImuCheck(), openFiniteCheck()]
    case 'camera':
      return [openBlackCheck()]
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
      return [openLogCheck(schema)]
    default:
      return []
  }
}

function decodeAll(decode: Decode, samples: Sample[], checks: ContentCheck[]): FoundIssue[] {
  let [failed, firstT, reason]: [number, number | undefined, string] = [0, undefined, '']
  for (const { t, payload } of samples) {
    try {
      const message = decode(payload)
      for (const check of checks) check.see(t, message)
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
