// npm run bench [-- NAME …]: measures, prints, and writes docs/benchmarks.md.
import { backends } from './backends.ts'
import { complete } from './complete.ts'
import { timelineInConsole } from './console.ts'
import { eventLoop } from './event-loop.ts'
import { formats } from './formats.ts'
import { listScale } from './list-scale.ts'
import { load } from './load.ts'
import { parts } from './parts.ts'
import { queue } from './queue.ts'
import { type Report, toMarkdown, writeReport } from './report.ts'
import { requests } from './requests.ts'
import { segments } from './segments.ts'
import { start } from './start.ts'
import { store } from './store.ts'
import { openStage, type Stage } from './support/stage.ts'
import { upload } from './upload.ts'
import { webhooks } from './webhooks.ts'

const benches: Record<string, (stage: Stage) => Promise<Report>> = {
  parts,
  complete,
  requests,
  'list-scale': listScale,
  start,
  'event-loop': eventLoop,
  upload,
  webhooks,
  queue,
  formats,
  segments,
  store,
  backends,
  load,
  console: timelineInConsole,
}

const names = process.argv.slice(2)
const unknown = names.find((name) => !Object.hasOwn(benches, name))
if (unknown !== undefined) {
  process.stderr.write(`no bench is named ${unknown}; there are ${Object.keys(benches).join(', ')}\n`)
  process.exit(2)
}

for (const [name, bench] of Object.entries(benches)) {
  if (names.length === 0 || names.includes(name)) await run(name, bench)
}

async function run(name: string, bench: (stage: Stage) => Promise<Report>): Promise<void> {
  process.stdout.write(`${name} …\n\n`)
  const stage = await openStage()
  const interrupted = () => void stage.end().finally(() => process.exit(130))
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, interrupted)
  try {
    const report = await bench(stage)
    process.stdout.write(`${toMarkdown(name, report)}\n`)
    await writeReport(name, report)
  } finally {
    await stage.end()
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.off(signal, interrupted)
  }
}
