import type { UploadProgress } from '@tapedeck/sdk'
import { bytes, clockTime } from './print.ts'
import type { Terminal } from './terminal.ts'

const REDRAW_MS = 100
const SPEED_WINDOW_MS = 5_000
const BAR_CELLS = 20

/** Lines at the bottom of a terminal that are written over; nothing where notes do not go to one. */
export function openStatusLines(terminal: Terminal, quiet: boolean) {
  let drawn = 0
  let lastMs = 0
  const visible = terminal.noteWidth !== undefined && !quiet

  function clear(): void {
    if (drawn > 0) terminal.note(`\x1b[${drawn}A\x1b[0J`)
    drawn = 0
  }

  return {
    show(lines: string[], now = false): void {
      if (!visible || (!now && performance.now() - lastMs < REDRAW_MS)) return
      lastMs = performance.now()
      const width = terminal.noteWidth ?? 80
      const text = lines.map((line) => `${line.slice(0, width - 1)}\x1b[K\n`).join('')
      terminal.note(`${drawn > 0 ? `\x1b[${drawn}A` : ''}${text}`)
      drawn = lines.length
    },
    clear,
  }
}

export function openStatusLine(terminal: Terminal, quiet: boolean) {
  const lines = openStatusLines(terminal, quiet)
  return { show: (text: string) => lines.show([text]), clear: lines.clear }
}

/** Bytes a second over the last seconds. */
export function openSpeed(nowMs: () => number = () => performance.now()) {
  let samples: { atMs: number; bytes: number }[] = []
  return {
    at(done: number): number {
      const atMs = nowMs()
      // Behind where it was: another phase, or a part that has to be sent again.
      if (done < (samples.at(-1)?.bytes ?? 0)) samples = []
      if (atMs - (samples.at(-1)?.atMs ?? -REDRAW_MS) >= REDRAW_MS) samples.push({ atMs, bytes: done })
      while (samples.length > 2 && atMs - (samples[0]?.atMs ?? atMs) > SPEED_WINDOW_MS) samples.shift()
      const first = samples[0]
      if (!first || atMs - first.atMs < REDRAW_MS) return 0
      return ((done - first.bytes) / (atMs - first.atMs)) * 1000
    },
  }
}

const verbs: Record<UploadProgress['phase'], string> = {
  hashing: 'hashing',
  uploading: 'uploading',
  completing: 'verifying',
}

type Speed = ReturnType<typeof openSpeed>

/** One line for the file on its way, one for all where there are several. */
export function openUploadView(terminal: Terminal, quiet: boolean, all: { files: number; bytes: number }) {
  const lines = openStatusLines(terminal, quiet)
  const speeds: Record<string, Speed> = { hashing: openSpeed(), uploading: openSpeed(), all: openSpeed() }
  let doneFiles = 0
  let doneBytes = 0

  return {
    progress(name: string, now: UploadProgress): void {
      const speed = speeds[now.phase]?.at(now.bytes) ?? 0
      const own = line(name, verbs[now.phase], now.bytes, now.totalBytes, speed)
      if (all.files === 1) return lines.show([own])
      const arrived = doneBytes + (now.phase === 'hashing' ? 0 : now.bytes)
      const count = `${doneFiles + 1} of ${all.files} files`
      const total = line(count, '', arrived, all.bytes, speeds.all?.at(arrived) ?? 0)
      lines.show([own, total])
    },
    processing(name: string, status: string): void {
      lines.show([`${fitName(name)}  ${status}`])
    },
    /** Before something is printed, and at the end. */
    clear: lines.clear,
    fileDone(size: number): void {
      doneFiles++
      doneBytes += size
      speeds.hashing = openSpeed()
      speeds.uploading = openSpeed()
    },
  }
}

export type UploadView = ReturnType<typeof openUploadView>

/** `run_0042.mcap         uploading  [#########           ]  45 %  1.4/3.0 GiB  212.5 MiB/s  0:08 left` */
export function line(name: string, verb: string, done: number, total: number, speed: number): string {
  const fraction = total === 0 ? 0 : Math.min(1, done / total)
  const full = Math.floor(fraction * BAR_CELLS)
  const bar = `[${'#'.repeat(full)}${' '.repeat(BAR_CELLS - full)}]`
  const percent = `${Math.floor(fraction * 100)}`.padStart(3)
  const pace = speed > 0 ? `${bytes(speed)}/s  ${clockTime((total - done) / speed)} left` : ''
  return `${fitName(name)}  ${verb.padEnd(9)}  ${bar} ${percent} %  ${bytes(done)} / ${bytes(total)}  ${pace}`.trimEnd()
}

const NAME_CELLS = 22

function fitName(name: string): string {
  return name.length > NAME_CELLS ? `…${name.slice(1 - NAME_CELLS)}` : name.padEnd(NAME_CELLS)
}
