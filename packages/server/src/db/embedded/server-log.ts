/** The file that PostgreSQL prints to, and what a failed start can tell from it. */
import { closeSync, constants, fstatSync, openSync, readSync, renameSync, statSync } from 'node:fs'

const maxLogBytes = 16 * 1024 * 1024
const tailBytes = 4096
const tailLines = 12

export type ServerLog = {
  fd: number
  /** The end of what was printed since the log was opened. */
  lastLines(): string
  close(): void
}

export function openLog(file: string): ServerLog {
  const size = statSync(file, { throwIfNoEntry: false })?.size ?? 0
  if (size > maxLogBytes) renameSync(file, `${file}.1`)
  // The directory may belong to a less trusted account than ours: no link of its making is followed.
  const { O_RDWR, O_CREAT, O_APPEND, O_NOFOLLOW } = constants
  const fd = openSync(file, O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW, 0o600)
  const openedAtByte = fstatSync(fd).size
  return { fd, lastLines: () => readTail(fd, openedAtByte), close: () => closeSync(fd) }
}

function readTail(fd: number, fromByte: number): string {
  const endByte = fstatSync(fd).size
  const startByte = Math.max(fromByte, endByte - tailBytes)
  const buffer = Buffer.alloc(endByte - startByte)
  const bytesRead = readSync(fd, buffer, 0, buffer.length, startByte)
  return buffer.toString('utf8', 0, bytesRead).trim().split('\n').slice(-tailLines).join('\n')
}
