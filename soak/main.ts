// npm run soak [-- --minutes N] [-- --seed N]: the service on several machines under load and faults, then one table.
// Ends with 1 where anything that was acknowledged is lost, or anything else does not hold.
import { randomInt } from 'node:crypto'
import { parseArgs } from 'node:util'
import { openStage } from '../bench/support/stage.ts'
import type { Verdict } from './checks.ts'
import { soak } from './soak.ts'

const { minutes, seed } = readArguments()
const stage = await openStage()
const interrupted = () => void stage.end().finally(() => process.exit(130))
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, interrupted)
process.stdout.write(`soak of ${minutes} minutes, seed ${seed}\n`)
try {
  const verdicts = await soak(stage, { seed, forMs: minutes * 60_000, onProgress: openProgress() })
  process.stdout.write(
    `\n${table(verdicts)}\nRepeat with npm run soak -- --minutes ${minutes} --seed ${seed}\n`,
  )
  process.exitCode = verdicts.every(({ holds }) => holds) ? 0 : 1
} finally {
  await stage.end()
}
process.exit()

function readArguments(): { minutes: number; seed: number } {
  const { values } = parseArgs({
    options: { minutes: { type: 'string', default: '10' }, seed: { type: 'string' } },
  })
  const minutes = Number(values.minutes)
  const seed = values.seed === undefined ? randomInt(2 ** 31) : Number(values.seed)
  if (!(minutes > 0 && minutes <= 24 * 60)) refuse('--minutes takes a number up to 1440')
  if (!Number.isSafeInteger(seed) || seed < 0) refuse('--seed takes a whole number')
  return { minutes, seed }
}

function refuse(reason: string): never {
  process.stderr.write(`${reason}\n`)
  process.exit(2)
}

/** One line that changes on a terminal, and one every ten seconds elsewhere. */
function openProgress(): (line: string) => void {
  if (process.stdout.isTTY) return (line) => void process.stdout.write(`\r\x1b[K${line}`)
  let lastMs = 0
  return (line) => {
    if (performance.now() - lastMs < 10_000) return
    lastMs = performance.now()
    process.stdout.write(`${line}\n`)
  }
}

function table(verdicts: Verdict[]): string {
  const width = Math.max(...verdicts.map(({ what }) => what.length))
  return verdicts
    .map(({ what, found, holds }) => `${holds ? 'holds ' : 'BROKEN'}  ${what.padEnd(width)}  ${found}\n`)
    .join('')
}
