import type { ChannelInfo, Finding, Visitor } from '@tapedeck/formats'
import { kindOf } from './channel-names.ts'
import { type ChannelClock, openChannelTimes } from './channel-stats.ts'
import { openTransformTree, type TransformTree } from './content-transforms.ts'
import { type Contents, openContents } from './contents.ts'
import { type KeptTimes, openKeptTimes } from './kept-times.ts'
import { openBudget } from './samples.ts'
import { cleanLine } from './text.ts'

// Listens to a reader and keeps what the checks need, in memory that does not grow with the file.

export type CollectedChannel = { info: ChannelInfo; times: ChannelClock; contents: Contents }

export type Collection = {
  visitor: Visitor
  channels: CollectedChannel[]
  kept: KeptTimes
  tree: TransformTree
  markers: { t: number; label: string }[]
  findings: Finding[]
  originNs(): bigint
}

const MAX_MARKERS = 20_000
const MAX_LABEL_CHARACTERS = 200
const MAX_FINDINGS = 1_000

export function openCollection(onProgress: (fraction: number) => void): Collection {
  const channels: CollectedChannel[] = []
  const kept = openKeptTimes()
  const tree = openTransformTree()
  const budget = openBudget()
  const markers: Collection['markers'] = []
  const findings: Finding[] = []
  let originNs = 0n
  const visitor: Visitor = {
    origin(ns) {
      originNs = ns
    },
    channel(info) {
      const contents = openContents(info, kindOf(info), () => originNs, budget, tree)
      channels.push({ info, times: openChannelTimes(), contents })
      return channels.length - 1
    },
    message(channel, t, bytes) {
      channels[channel]?.times.add(t, bytes)
      kept.add(channel, t)
    },
    content(channel, t, payload) {
      const known = channels[channel]
      if (known?.times.isBelieved()) known.contents.see(t, payload, known.times.count())
    },
    marker(t, label) {
      if (markers.length < MAX_MARKERS) markers.push({ t, label: cleanLine(label, MAX_LABEL_CHARACTERS) })
    },
    finding(finding) {
      const known = findings.find(({ code, channel }) => code === finding.code && channel === finding.channel)
      if (known) known.count = (known.count ?? 1) + (finding.count ?? 1)
      else if (findings.length < MAX_FINDINGS) findings.push({ ...finding })
    },
    progress: onProgress,
  }
  return { visitor, channels, kept, tree, markers, findings, originNs: () => originNs }
}
