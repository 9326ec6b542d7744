import { mkdtemp, open, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { type Analysis, analyse } from '@tapedeck/analysis'
import { type Context, RECORDING_FAILED } from '../command.ts'
import { findFiles } from '../find-files.ts'
import { clockTime, json } from '../print.ts'
import { openStatusLine } from '../progress-bar.ts'
import { showChannels, showIssues } from '../show-session.ts'
import { inOneLine } from '../tell-error.ts'

/** What the service would find in the files, found here. */
export async function doctor(args: string[], context: Context): Promise<number | undefined> {
  const files = await findFiles(args)
  const { flags, terminal, signal } = context
  let worst = 0
  for (const path of files) {
    const line = openStatusLine(terminal, flags.json ?? false)
    try {
      const analysis = await examine(path, flags.full ?? false, signal, (fraction) =>
        line.show(`${path} reading ${Math.round(fraction * 100)} %`),
      )
      line.clear()
      terminal.print(flags.json ? json(toJson(path, analysis)) : show(path, analysis, context))
      const isBad = !analysis.readable || analysis.issues.some(({ severity }) => severity === 'error')
      worst = Math.max(worst, isBad ? RECORDING_FAILED : 0)
    } catch (error) {
      line.clear()
      signal.throwIfAborted()
      terminal.note(`tapedeck: ${path}: ${inOneLine(error)}\n`)
      worst = Math.max(worst, 1)
    }
  }
  return worst
}

async function examine(
  path: string,
  full: boolean,
  signal: AbortSignal,
  onProgress: (fraction: number) => void,
): Promise<Analysis> {
  const tempDir = await mkdtemp(join(tmpdir(), 'tapedeck-doctor-'))
  const handle = await open(path, 'r')
  try {
    const { size } = await handle.stat()
    const source = {
      size: () => size,
      async read(offset: number, length: number) {
        const bytes = new Uint8Array(length)
        for (let filled = 0; filled < length; ) {
          const { bytesRead } = await handle.read(bytes, filled, length - filled, offset + filled)
          if (bytesRead === 0) throw new Error('it shrank while it was read')
          filled += bytesRead
        }
        return bytes
      },
    }
    return await analyse(source, { filename: basename(path), signal, tempDir, full, onProgress })
  } finally {
    await handle.close()
    await rm(tempDir, { recursive: true, force: true })
  }
}

function show(path: string, analysis: Analysis, { terminal }: Context): string {
  const { format, readable, absolute, startNs, endNs, channels, issues } = analysis
  const length = clockTime(Number(endNs - startNs) / 1e9)
  const began = absolute ? `, recorded ${new Date(Number(startNs / 1_000_000n)).toISOString()}` : ''
  const head = readable
    ? `${format}, ${length}${began}`
    : `nothing can be read (${format ?? 'unknown format'})`
  const listed = channels.map(({ name, count, rateHz, schema }) => ({
    name,
    message_count: count,
    rate_hz: rateHz,
    schema,
  }))
  return [
    `${terminal.paint('bold', path)}: ${head}\n`,
    listed.length > 0 ? `\n${showChannels(listed, terminal.width)}` : '',
    showIssues(issues, terminal),
    '\n',
  ].join('')
}

/** With the names of the API. */
function toJson(path: string, { format, readable, startNs, endNs, channels, issues, segments }: Analysis) {
  return {
    file: path,
    format: format ?? null,
    readable,
    duration_s: readable ? Number(endNs - startNs) / 1e9 : null,
    channels: channels.map(({ name, kind, topic, schema, count, rateHz, firstNs, lastNs }) => ({
      name,
      kind,
      source: topic,
      schema,
      message_count: count,
      first_t_ns: firstNs,
      last_t_ns: lastNs,
      rate_hz: rateHz,
    })),
    segment_count: segments.length,
    issues: issues.map(({ tNs, ...issue }) => ({ ...issue, ...(tNs !== undefined && { t_ns: tNs }) })),
  }
}
