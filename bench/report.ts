import { readFile, writeFile } from 'node:fs/promises'
import { availableParallelism } from 'node:os'

// docs/benchmarks.md: a part for each bench between two markers, replaced when that bench has run.

export type Target = { atLeast: number } | { atMost: number }

export type Figure = {
  what: string
  ours: string
  baseline: string
  ratio: number
  /** None: for information. */
  target?: Target
}

export type Report = {
  title: string
  /** What was measured, against what, and how. */
  story: string
  figures: Figure[]
  notes?: string[]
  /** Where the same bench is told of in more than one part, by what it ran on. */
  on?: { name: string; repeat: string }
}

const path = new URL('../docs/benchmarks.md', import.meta.url)

const intro = `# Benchmarks

Every figure is a ratio of the service to a named baseline, measured in the same run on the same machine in
alternating rounds: machines differ and are noisy, ratios hold. The absolute figures stand beside them. All
of it runs on loopback, the service, its baseline and the load in processes of their own.

Repeat all with \`npm run bench\`, some by name with \`npm run bench -- parts requests\`. This page is
written by it.
`

export function holds({ ratio, target }: Figure): boolean {
  if (!target) return true
  return 'atLeast' in target ? ratio >= target.atLeast : ratio <= target.atMost
}

export async function writeReport(name: string, report: Report): Promise<void> {
  const page = await readFile(path, 'utf8').catch(() => intro)
  const section = report.on ? `${name} on ${report.on.name}` : name
  const [begin, end] = [`<!-- bench ${section} -->`, `<!-- end ${section} -->`]
  const part = `${begin}\n${toMarkdown(name, report)}${end}\n`
  const from = page.indexOf(begin)
  const to = page.indexOf(end)
  const written =
    from === -1 || to === -1
      ? `${page.trimEnd()}\n\n${part}`
      : page.slice(0, from) + part + page.slice(to + end.length + 1)
  await writeFile(path, written)
}

export function toMarkdown(name: string, { title, story, figures, notes = [], on }: Report): string {
  const repeat = on?.repeat ?? `npm run bench -- ${name}`
  const rows = figures.map(
    (figure) =>
      `| ${figure.what} | ${figure.ours} | ${figure.baseline} | ${figure.ratio.toFixed(2)} | ${verdict(figure)} |`,
  )
  return [
    `## ${title}`,
    '',
    story,
    '',
    '| | Service | Baseline | Ratio | Target |',
    '| --- | --- | --- | --- | --- |',
    ...rows,
    '',
    ...notes.map((note) => `- ${note}`),
    `- Measured on ${availableParallelism()} cores with Node ${process.versions.node}. Repeat with \`${repeat}\`.`,
    '',
  ].join('\n')
}

function verdict(figure: Figure): string {
  const { target } = figure
  if (!target) return 'none'
  const wanted = 'atLeast' in target ? `at least ${target.atLeast}` : `at most ${target.atMost}`
  return `${wanted}: ${holds(figure) ? 'held' : 'missed'}`
}
