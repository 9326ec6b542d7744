import { performance } from 'node:perf_hooks'

// When the event loop never rests, whoever wants to read waits behind all that is being changed, and the other way round.
// Then few are begun at a time, reads and writes in lanes of their own, so that neither crowd keeps the other from its
// turn. A crowd that has the service for itself is let in: more at once is then what it gains most from.

export type Turns = {
  /** Does the work when its turn comes. */
  take<T>(lane: 'read' | 'write', work: () => Promise<T>): Promise<T>
  /** How many of a lane are begun at once. */
  atOnce(): number
  close(): void
}

export const FEWEST = 2
export const MOST = 128
const SAMPLE_MS = 100
/** Of the time, spent with requests. */
const RESTLESS = 0.9
/** Whoever takes longer waits for a client, the store or the database, and keeps nobody busy meanwhile. */
const TURN_MS = 250

export function openTurns(): Turns {
  const lanes = { read: openLane(), write: openLane() }
  let atOnce = MOST
  let last = performance.eventLoopUtilization()
  const timer = setInterval(() => {
    const now = performance.eventLoopUtilization()
    const { utilization } = performance.eventLoopUtilization(now, last)
    last = now
    const meeting = [lanes.read.tookPart(), lanes.write.tookPart()].every(Boolean)
    const next = meeting && utilization > RESTLESS ? Math.floor(atOnce / 2) : Math.ceil(atOnce * 1.25)
    atOnce = Math.min(MOST, Math.max(FEWEST, next))
    for (const lane of Object.values(lanes)) {
      lane.endBegunBefore(performance.now() - TURN_MS)
      lane.callNext(atOnce)
    }
  }, SAMPLE_MS).unref()

  return {
    async take(name, work) {
      const lane = lanes[name]
      const turn = await lane.begin(atOnce)
      try {
        return await work()
      } finally {
        lane.end(turn)
        lane.callNext(atOnce)
      }
    },
    atOnce: () => atOnce,
    close: () => clearInterval(timer),
  }
}

type Turn = { begunMs: number }

function openLane() {
  /** In the order in which they began. */
  const running = new Set<Turn>()
  const waiting: ((turn: Turn) => void)[] = []
  let begun = 0
  const start = (): Turn => {
    begun++
    const turn = { begunMs: performance.now() }
    running.add(turn)
    return turn
  }
  return {
    begin(atOnce: number): Turn | Promise<Turn> {
      if (running.size < atOnce) return start()
      return new Promise((resolve) => waiting.push(resolve))
    },
    /** Since it was asked before. */
    tookPart() {
      const took = begun > 0
      begun = 0
      return took
    },
    end: (turn: Turn) => void running.delete(turn),
    callNext(atOnce: number) {
      while (running.size < atOnce) {
        const next = waiting.shift()
        if (!next) return
        next(start())
      }
    },
    endBegunBefore(ms: number) {
      for (const turn of running) {
        if (turn.begunMs >= ms) return
        running.delete(turn)
      }
    },
  }
}
