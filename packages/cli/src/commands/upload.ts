import { stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import {
  AuthenticationError,
  type Channel,
  ConnectionError,
  PermissionError,
  type Session,
  type Tapedeck,
  TapedeckError,
} from '@tapedeck/sdk'
import { type Context, INTERRUPTED, RECORDING_FAILED } from '../command.ts'
import { connect } from '../connection.ts'
import { findFiles } from '../find-files.ts'
import { bytes, json } from '../print.ts'
import { openUploadView, type UploadView } from '../progress-bar.ts'
import { stateDir } from '../settings.ts'
import { showSession } from '../show-session.ts'
import { inOneLine } from '../tell-error.ts'
import { uploadOnce } from '../upload-once.ts'
import { type Destination, sweepStates } from '../upload-state.ts'
import { given, readBytes, readCount, UsageError } from '../usage.ts'
import { progressOf } from './sessions.ts'

type Uploaded = { path: string; session: Session }

export async function upload(args: string[], context: Context): Promise<number> {
  const { flags, terminal, env, signal } = context
  if (!flags.site) throw new UsageError('upload needs --site SITE')
  const concurrency = readCount('parallel', flags.parallel)
  const partSize = readBytes('part-size', flags['part-size'])
  const files = await findFiles(args)
  const { tapedeck, url } = connect(context)
  const { site, device, notes } = flags
  const destination: Destination = { url, site, ...given({ device, notes, partSize }) }
  const dir = join(stateDir(env), 'uploads')
  await sweepStates(dir)
  const view = openUploadView(terminal, flags.json ?? false, await sizeOf(files))
  const uploaded: Uploaded[] = []
  let failed = 0
  for (const path of files) {
    try {
      const { session, isNew } = await uploadOnce(tapedeck, path, destination, {
        dir,
        signal,
        again: flags.again ?? false,
        ...given({ concurrency }),
        onProgress: (now) => view.progress(basename(path), now),
        onWarning(text) {
          view.clear()
          terminal.note(`tapedeck: ${text}\n`)
        },
      })
      uploaded.push({ path, session })
      view.clear()
      view.fileDone(session.bytes)
      if (!flags.wait) terminal.print(flags.json ? json({ file: path, session }) : told(path, session, isNew))
    } catch (error) {
      view.clear()
      if (signal.aborted) {
        terminal.note('tapedeck: interrupted; run the same command again and it goes on from here\n')
        return INTERRUPTED
      }
      failed++
      tellFailure(path, error, context)
      // What is wrong for one file is wrong for all of them.
      if (isForAll(error)) break
    }
  }
  const bad = flags.wait ? await waitForAll(tapedeck, uploaded, view, context) : 0
  return failed > 0 ? 1 : bad > 0 ? RECORDING_FAILED : 0
}

async function sizeOf(files: string[]): Promise<{ files: number; bytes: number }> {
  const sizes = await Promise.all(
    files.map(async (path) => (await stat(path).catch(() => ({ size: 0 }))).size),
  )
  return { files: files.length, bytes: sizes.reduce((sum, size) => sum + size, 0) }
}

function told(path: string, session: Session, isNew: boolean): string {
  return `${session.id}  ${isNew ? 'uploaded' : 'uploaded before'}  ${bytes(session.bytes)}  ${path}\n`
}

function tellFailure(path: string, error: unknown, { flags, terminal }: Context): void {
  const line = inOneLine(error)
  const code = error instanceof TapedeckError ? error.code : 'failed'
  if (flags.json) terminal.print(json({ file: path, error: { code, message: line } }))
  terminal.note(`tapedeck: ${line.includes(path) ? line : `${path}: ${line}`}\n`)
}

function isForAll(error: unknown): boolean {
  return (
    error instanceof AuthenticationError ||
    error instanceof PermissionError ||
    error instanceof ConnectionError
  )
}

/** Follows every session to its end; returns how many have failed. */
async function waitForAll(
  tapedeck: Tapedeck,
  uploaded: Uploaded[],
  view: UploadView,
  { flags, terminal, signal }: Context,
): Promise<number> {
  let bad = 0
  for (const { path, session } of uploaded) {
    const done = await tapedeck.sessions.wait(session.id, {
      signal,
      onProgress: (now) => view.processing(basename(path), progressOf(now)),
    })
    const { data: channels }: { data: Channel[] } = await tapedeck.sessions.channels(done.id, { signal })
    view.clear()
    if (done.status === 'failed') bad++
    terminal.print(
      flags.json
        ? json({ file: path, session: done, channels })
        : `${terminal.paint('bold', path)}\n${showSession(done, channels, terminal)}\n`,
    )
  }
  return bad
}
