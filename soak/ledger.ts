// What the service has acknowledged to the clients of a run, so that it can be held to it.

export type Acknowledged = { id: string; bytes: number; sha256: string; deleted: boolean }

export type Ledger = {
  sessions: Acknowledged[]
  /** Ids of events, and how often each has arrived. */
  events: Map<string, number>
  /** What must not have happened: answers that no fault explains. */
  surprises: string[]
  /** Tries that failed as they may while faults happen. */
  interruptions: number
  lists: number
}

export function openLedger(): Ledger {
  return { sessions: [], events: new Map(), surprises: [], interruptions: 0, lists: 0 }
}
