import { setTimeout as delay } from 'node:timers/promises'
import type { FaultyStore } from '../packages/server/test/support/faulty-store.ts'
import type { Chance } from './chance.ts'
import type { Cluster } from './cluster.ts'
import type { Foundation } from './foundation.ts'
import type { Supervised } from './supervised.ts'

// What machines and networks do to a service, one after the other, some of them while another still lasts.

/** `way` stands before the store. */
export type Scene = { cluster: Cluster; foundation: Foundation; way: FaultyStore }

type Fault = (scene: Scene, chance: Chance) => Promise<void>

const SHORT_MS = 3_000
/** Past the ten seconds after which a job is missed. */
const PAST_LEASE_MS = 25_000

export const faults = {
  'kill an API node': ({ cluster }, chance) => kill(chance.pick(cluster.api), chance),
  'kill a worker': ({ cluster }, chance) => kill(chance.pick(cluster.workers), chance),
  'kill PostgreSQL': ({ foundation }, chance) => killForAWhile(foundation.postgres, chance),
  'kill the store': async ({ foundation: { store } }, chance) => {
    if (store.process) await killForAWhile(store.process, chance)
  },
  'freeze an API node': ({ cluster }, chance) => freeze(chance.pick(cluster.api), SHORT_MS),
  'freeze a worker past its lease': ({ cluster }, chance) =>
    freeze(chance.pick(cluster.workers), PAST_LEASE_MS),
  'cut the clients': async ({ cluster }) => cluster.balancer.cut(),
  'cut the database': async ({ foundation }) => foundation.postgres.network.cut(),
  'stall the database': async ({ foundation }, chance) => {
    foundation.postgres.network.stall()
    await delay(chance.between(500, SHORT_MS))
    foundation.postgres.network.pass()
  },
  'store: 503': async ({ way }, chance) => way.inject('busy', always, chance.between(1, 20)),
  'store: cut': async ({ way }, chance) => way.inject('cut', always, chance.between(1, 10)),
  'store: cut in a body': async ({ way }, chance) =>
    way.inject('cut in the body', isPut, chance.between(1, 3)),
  'store: answer lost': async ({ way }, chance) => way.inject('answer lost', always, chance.between(1, 5)),
  'store: silence': async ({ way }) => way.inject('hang', (method) => method === 'GET', 1),
} satisfies Record<string, Fault>

export type FaultName = keyof typeof faults

export const allFaults = Object.keys(faults) as FaultName[]

export type FaultsUnderWay = {
  /** How often each has happened. */
  counts: Map<FaultName, number>
  last(): string
  /** No more of them; resolves when everything is up again. */
  stop(): Promise<void>
}

type Plan = { kinds: readonly FaultName[]; everyMs: [number, number] }

export function startFaults(scene: Scene, chance: Chance, { kinds, everyMs }: Plan): FaultsUnderWay {
  const counts = new Map<FaultName, number>()
  const ending = new AbortController()
  const lasting = new Set<Promise<void>>()
  let last = 'none yet'

  async function go(): Promise<void> {
    while (!ending.signal.aborted) {
      await delay(chance.between(...everyMs), undefined, { signal: ending.signal }).catch(() => {})
      if (ending.signal.aborted) return
      const name = chance.pick(kinds)
      const fault: Fault = faults[name]
      const own = chance.fork()
      // One kind never meets itself; others may meet.
      if (busy.has(name)) continue
      last = name
      counts.set(name, (counts.get(name) ?? 0) + 1)
      busy.add(name)
      const happening = fault(scene, own).finally(() => {
        busy.delete(name)
        lasting.delete(happening)
      })
      lasting.add(happening)
    }
  }

  const busy = new Set<FaultName>()
  const going = go()
  return {
    counts,
    last: () => last,
    async stop() {
      ending.abort()
      await going
      await Promise.all(lasting)
      const { api, workers } = scene.cluster
      await Promise.all([...api, ...workers].map((node) => node.ready()))
    },
  }
}

const always = () => true
const isPut = (method: string) => method === 'PUT'

function kill(victim: Supervised, chance: Chance): Promise<void> {
  return victim.kill(chance.between(0, SHORT_MS))
}

async function killForAWhile(
  victim: { kill(): Promise<void>; start(): Promise<void> },
  chance: Chance,
): Promise<void> {
  await victim.kill()
  await delay(chance.between(0, SHORT_MS))
  await victim.start()
}

async function freeze(victim: Supervised, ms: number): Promise<void> {
  victim.freeze()
  await delay(ms)
  victim.wake()
}
