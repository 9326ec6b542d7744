import type { PulledDelivery } from '../jobs/delivery-queue.ts'

// One lane for each endpoint, so that none delays another. A lane starts with one delivery at a time, widens while its
// receiver answers, and is narrow again when it does not. What waits in a lane is a claim and no more; those that are next
// are looked up.

const MAX_WIDTH = 32
/** In widths of a lane: as many as are sent while a pull takes its time. */
const PULLED_AHEAD = 4
const PREPARED_AHEAD = 2
/** Over all lanes. Each of as many receivers that hang holds one. */
const MAX_IN_FLIGHT = 2_000

export type Waiting = PulledDelivery & { pulledAtMs: number }

type Lane = {
  width: number
  inFlight: number
  waiting: Waiting[]
  /** When a timeout was noticed last, by `performance.now()`. */
  silentAtMs: number
  /** Was left out of the last pull; more may be due for it. */
  leftOut: boolean
}

export type Lanes = {
  /** Endpoints that should get nothing more for now. */
  busy(): string[]
  /** Takes a delivery in; it runs when its lane has room. */
  enter(delivery: Waiting): void
  /** Widens the lane. */
  answered(endpointId: string): void
  /** Narrows the lane. Tells whether this is a new silence, rather than one that was noticed after the attempt began. */
  timedOut(endpointId: string, beganMs: number): boolean
  /** Takes out what waits in a lane, or in all of them. */
  clear(endpointId?: string): Waiting[]
  /** How many deliveries are waiting or under way. */
  size(): number
}

type Work = {
  /** Told again and again of those that are next. */
  prepare(next: Waiting[]): void
  /** Ends when the next one may begin. */
  run(delivery: Waiting): Promise<void>
  /** Endpoints that were busy are no more. */
  onRoom(): void
}

export function openLanes({ prepare, run, onRoom }: Work): Lanes {
  const lanes = new Map<string, Lane>()
  /** Lanes that have room while all of them together have none. */
  const heldUp = new Set<string>()
  let waiting = 0
  let inFlight = 0

  function fill(endpointId: string): void {
    const lane = lanes.get(endpointId)
    if (!lane) return
    while (lane.inFlight < lane.width && lane.waiting.length > 0) {
      if (inFlight >= MAX_IN_FLIGHT) {
        heldUp.add(endpointId)
        return
      }
      start(endpointId, lane)
    }
    prepare(lane.waiting.slice(0, PREPARED_AHEAD * lane.width))
    // An idle lane is forgotten; the endpoint's row remembers its timeouts.
    const idle = lane.inFlight === 0
    if (idle) lanes.delete(endpointId)
    if (lane.leftOut && (idle || !isBusy(lane))) {
      lane.leftOut = false
      onRoom()
    }
  }

  function start(endpointId: string, lane: Lane): void {
    const next = lane.waiting.shift()
    if (!next) return
    waiting--
    inFlight++
    lane.inFlight++
    void run(next).finally(() => {
      inFlight--
      lane.inFlight--
      const [first] = heldUp
      if (first !== undefined && heldUp.delete(first)) fill(first)
      fill(endpointId)
    })
  }

  return {
    busy() {
      const busy = [...lanes].filter(([, lane]) => isBusy(lane))
      for (const [, lane] of busy) lane.leftOut = true
      return busy.map(([id]) => id)
    },
    enter(delivery) {
      const { endpointId } = delivery
      const lane = lanes.get(endpointId) ?? newLane()
      lanes.set(endpointId, lane)
      lane.waiting.push(delivery)
      waiting++
      fill(endpointId)
    },
    answered(endpointId) {
      const lane = lanes.get(endpointId)
      if (lane) lane.width = Math.min(MAX_WIDTH, lane.width * 2)
    },
    timedOut(endpointId, beganMs) {
      const lane = lanes.get(endpointId)
      if (!lane) return true
      lane.width = 1
      if (beganMs < lane.silentAtMs) return false
      lane.silentAtMs = performance.now()
      return true
    },
    clear(endpointId) {
      const cleared = endpointId === undefined ? [...lanes.values()] : [lanes.get(endpointId)]
      const taken = cleared.flatMap((lane) => lane?.waiting.splice(0) ?? [])
      waiting -= taken.length
      return taken
    },
    size: () => waiting + inFlight,
  }
}

/** Until a receiver has answered it gets one delivery; then the next ones are pulled while the last ones are sent. */
function isBusy({ waiting, width }: Lane): boolean {
  return width === 1 || waiting.length >= PULLED_AHEAD * width
}

function newLane(): Lane {
  return { width: 1, inFlight: 0, waiting: [], silentAtMs: Number.NEGATIVE_INFINITY, leftOut: false }
}
