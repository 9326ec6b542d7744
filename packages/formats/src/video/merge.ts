import { setImmediate } from 'node:timers/promises'
import type { Sample } from './samples.ts'
import type { Show } from './show.ts'

type Cursor = { show: Show; samples: AsyncGenerator<Sample[]>; batch: Sample[]; at: number }

/** The tables of all tracks side by side, in the order of decoding, which is also about that of the file. */
export async function mergeSamples(shows: Show[], signal: AbortSignal): Promise<void> {
  const cursors: Cursor[] = []
  for (const show of shows) {
    const cursor = show.tables && { show, samples: show.tables.samples(), batch: [], at: 0 }
    if (cursor && (await fill(cursor))) cursors.push(cursor)
  }
  while (cursors.length > 0) {
    const next = earliest(cursors)
    const sample = next.batch[next.at++]
    if (sample) {
      const checked = next.show.sample(sample)
      if (checked) await checked
    }
    if (next.at < next.batch.length) continue
    // Tables that are in memory already are gone through without a pause: others want their turn.
    await setImmediate()
    signal.throwIfAborted()
    if (!(await fill(next))) cursors.splice(cursors.indexOf(next), 1)
  }
}

async function fill(cursor: Cursor): Promise<boolean> {
  const { done, value } = await cursor.samples.next()
  cursor.batch = value ?? []
  cursor.at = 0
  return !done
}

function earliest(cursors: [Cursor, ...Cursor[]] | Cursor[]): Cursor {
  return cursors.reduce((first, other) => (seconds(other) < seconds(first) ? other : first))
}

function seconds({ show, batch, at }: Cursor): number {
  return (batch[at]?.decoded ?? 0) / show.track.timescale
}
