import { queryOptions, useQuery } from '@tanstack/react-query'
import type { Timeline } from '@tapedeck/contract'
import { useEffect, useRef, useState } from 'react'
import { type Organisation, useOrganisation } from '../api/organisation.ts'
import { activityOf, unpack } from './recording.ts'
import { prepare, useColours } from './use-canvas.ts'

// A recording at a glance: how much of it is alive, over its time. Only what is drawn is kept of its timeline.

type Glance = { startNs: bigint; spanNs: number; activity: Float32Array }

const COLUMNS = 600

function glanceQuery({ id, ask }: Organisation, session: string) {
  return queryOptions({
    queryKey: [id, 'glance', session],
    queryFn: async (): Promise<Glance> => {
      const timeline = await ask<Timeline>('GET', `/v1/sessions/${session}/timeline?counts=packed`)
      const recording = await unpack(timeline, new Map())
      return {
        startNs: recording.startNs,
        spanNs: recording.spanNs,
        activity: activityOf(recording, 0, recording.binCount, COLUMNS),
      }
    },
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
  })
}

type Props = {
  session: string
  /** The part that is meant; all of it where none is given. */
  part?: { fromNs: bigint; toNs: bigint }
  width?: number
  height?: number
}

export function Strip({ session, part, width = 132, height = 22 }: Props) {
  const organisation = useOrganisation()
  const canvas = useRef<HTMLCanvasElement>(null)
  const isSeen = useSeen(canvas)
  const colours = useColours()
  const { data: glance } = useQuery({ ...glanceQuery(organisation, session), enabled: isSeen })
  useEffect(() => {
    const context = canvas.current && prepare(canvas.current, width, height)
    if (!context) return
    context.clearRect(0, 0, width, height)
    context.fillStyle = colours.line
    context.fillRect(0, height - 2, width, 2)
    if (!glance) return
    const from = part ? Number(part.fromNs - glance.startNs) / glance.spanNs : 0
    const to = part ? Number(part.toNs - glance.startNs) / glance.spanNs : 1
    for (let x = 0; x < width; x++) {
      const share = x / width
      const inside = share >= from && share <= Math.max(to, from + 1 / width)
      const bar = Math.round((height - 2) * (glance.activity[Math.floor(share * COLUMNS)] ?? 0))
      context.fillStyle = inside ? colours.strip : colours.line
      if (bar > 0) context.fillRect(x, height - bar, 1, bar)
    }
  }, [glance, part, width, height, colours])
  return <canvas ref={canvas} style={{ width, height }} role="img" aria-label="Activity over time" />
}

/** Whether it has come into view; what nobody scrolls to is never asked for. */
function useSeen(ref: React.RefObject<Element | null>): boolean {
  const [isSeen, setSeen] = useState(false)
  useEffect(() => {
    const element = ref.current
    if (!element) return
    const observer = new IntersectionObserver(([entry]) => entry?.isIntersecting && setSeen(true))
    observer.observe(element)
    return () => observer.disconnect()
  }, [ref])
  return isSeen
}
