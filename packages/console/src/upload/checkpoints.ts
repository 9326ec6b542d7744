import type { UploadCheckpoint } from '@tapedeck/sdk'

// What an upload needs to go on, kept in the browser: after a reload, choosing the file again goes on where it was.

const PREFIX = 'tapedeck-upload'
const MOST_CHARACTERS = 1_000_000

/** The same file, as far as a page can tell without reading it; the SDK compares what is in it. */
function nameOf(organisation: string, { name, size, lastModified }: File): string {
  return `${PREFIX} ${organisation} ${size} ${lastModified} ${name}`
}

export function findCheckpoint(organisation: string, file: File): UploadCheckpoint | undefined {
  try {
    const kept = localStorage.getItem(nameOf(organisation, file))
    return kept === null ? undefined : (JSON.parse(kept) as UploadCheckpoint)
  } catch {
    return undefined
  }
}

export function keepCheckpoint(organisation: string, file: File, checkpoint: UploadCheckpoint): void {
  const text = JSON.stringify(checkpoint)
  if (text.length > MOST_CHARACTERS) return
  try {
    localStorage.setItem(nameOf(organisation, file), text)
  } catch {
    // Storage is full or forbidden: the upload works, and begins anew after a reload.
  }
}

export function forgetCheckpoint(organisation: string, file: File): void {
  try {
    localStorage.removeItem(nameOf(organisation, file))
  } catch {
    // As above.
  }
}
