import { fileURLToPath } from 'node:url'
import type { Report } from './report.ts'
import { startProcess } from './support/process.ts'
import { inRounds, median } from './support/rounds.ts'
import { mainPath, serviceEnv, startService } from './support/service.ts'
import type { Stage } from './support/stage.ts'

const ROUNDS = 5
const runPath = fileURLToPath(new URL('../scripts/run.mjs', import.meta.url))

/** How long `npm start` takes where the service has been before. */
export async function start(stage: Stage): Promise<Report> {
  const first = await startService(stage)
  await first.stop()
  const rounds = await inRounds(ROUNDS, [
    () => startSeconds(stage, [runPath, mainPath], /Tapedeck is ready/, serviceEnv(first.dataDir)),
    () => startSeconds(stage, ['--eval', 'console.log("up")'], /up/),
  ])
  const column = (index: number) => median(rounds.map((round) => round[index] ?? Number.NaN))
  return {
    title: 'Start: until the service is ready',
    story: `The second start on a data directory, from \`node scripts/run.mjs packages/server/src/main.ts\` to the line that says ready, PostgreSQL included; median of ${ROUNDS}. The baseline is a Node process that does nothing but print a line.`,
    figures: [
      {
        what: 'start to ready, against an empty Node process',
        ours: `${column(0).toFixed(2)} s`,
        baseline: `${column(1).toFixed(2)} s`,
        ratio: median(rounds.map(([service = Number.NaN, empty = Number.NaN]) => service / empty)),
      },
    ],
  }
}

async function startSeconds(
  stage: Stage,
  args: string[],
  pattern: RegExp,
  env: NodeJS.ProcessEnv = {},
): Promise<number> {
  const startMs = performance.now()
  const running = await startProcess(stage, args, pattern, env)
  const seconds = (performance.now() - startMs) / 1000
  await running.stop()
  return seconds
}
