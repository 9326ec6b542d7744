import type { Hashed, Lane } from '../platform.ts'

export type LaneMessage = { bytes: Uint8Array<ArrayBuffer>; ends: boolean }

/** A thread of Node and a worker of a browser, alike. */
export type LaneWorker = {
  post(message: LaneMessage): void
  onAnswer(take: (answer: Hashed) => void): void
  onError(take: (error: Error) => void): void
  end(): void
}

/** A lane in a thread: it answers in the order in which it was asked. */
export function overWorker(worker: LaneWorker): Lane {
  const waiting: { resolve(hashed: Hashed): void; reject(error: Error): void }[] = []
  let dead: Error | undefined
  worker.onAnswer((answer) => waiting.shift()?.resolve(answer))
  worker.onError((error) => {
    dead = error
    for (const { reject } of waiting.splice(0)) reject(error)
  })
  return {
    add(bytes, ends) {
      return new Promise((resolve, reject) => {
        if (dead) return reject(dead)
        waiting.push({ resolve, reject })
        worker.post({ bytes, ends })
      })
    },
    close: () => worker.end(),
  }
}
