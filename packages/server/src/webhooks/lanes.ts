import type { Claimed } from './claimed.ts'

// One lane for each endpoint, so that none delays another. A lane starts narrow, widens while its receiver answers,
// and narrows to one delivery at a time when it does not.

const FIRST_WIDTH = 4
const MAX_WIDTH = 32

type Lane = {
  width: number
  inFlight: number
  waiting: Claimed[]
  timeouts: number
  /** Was left out of the last pull; more may be due for it. */
  leftOut: boolean
}

export type Lanes = {
  /** Endpoints that should get nothing more for now. */
  busy(): string[]
  /** Takes a delivery in; it runs when its lane has room. */
  enter(delivery: Claimed): void
  /** The number of timeouts in a row at this endpoint, this one counted. */
  timedOut(delivery: Claimed): number
  answered(delivery: Claimed): void
  /** Takes out what waits in a lane, or in all of them. */
  clear(endpointId?: string): Claimed[]
  held(): number
}

export function openLanes(run: (delivery: Claimed) => Promise<void>, onRoom: () => void): Lanes {
  const lanes = new Map<string, Lane>()

  function fill(endpointId: string, lane: Lane): void {
    while (lane.inFlight < lane.width) {
      const next = lane.waiting.shift()
      if (!next) break
      lane.inFlight++
      void run(next).finally(() => {
        lane.inFlight--
        fill(endpointId, lane)
      })
    }
    if (lane.waiting.length > 0) return
    // An idle lane is forgotten; the endpoint's row remembers its timeouts.
    if (lane.inFlight === 0) lanes.delete(endpointId)
    if (lane.leftOut) onRoom()
    lane.leftOut = false
  }

  const laneOf = (endpointId: string, timeouts: number): Lane => {
    const known = lanes.get(endpointId)
    if (known) return known
    const lane = { width: timeouts > 0 ? 1 : FIRST_WIDTH, inFlight: 0, waiting: [], timeouts, leftOut: false }
    lanes.set(endpointId, lane)
    return lane
  }

  return {
    busy() {
      const full = [...lanes].filter(([, lane]) => lane.waiting.length > 0 || lane.inFlight >= lane.width)
      for (const [, lane] of full) lane.leftOut = true
      return full.map(([id]) => id)
    },
    enter(delivery) {
      const lane = laneOf(delivery.endpointId, delivery.timeouts)
      lane.waiting.push(delivery)
      fill(delivery.endpointId, lane)
    },
    timedOut({ endpointId, timeouts }) {
      const lane = laneOf(endpointId, timeouts)
      lane.width = 1
      lane.timeouts++
      return lane.timeouts
    },
    answered({ endpointId, timeouts }) {
      const lane = laneOf(endpointId, timeouts)
      lane.width = Math.min(MAX_WIDTH, lane.width * 2)
      lane.timeouts = 0
    },
    clear(endpointId) {
      const cleared = endpointId === undefined ? [...lanes.values()] : [lanes.get(endpointId)]
      return cleared.flatMap((lane) => lane?.waiting.splice(0) ?? [])
    },
    held: () => [...lanes.values()].reduce((sum, lane) => sum + lane.waiting.length, 0),
  }
}
