import { analyseBytes } from './analyse-bytes.ts'

// Scans one file after the other for scan-pool.ts, in a process with the caps that the service gives to one.

export type Ask = { id: number; filename: string; bytes: Uint8Array }

process.on('message', ({ id, filename, bytes }: Ask) => {
  analyseBytes(bytes, filename).then(
    (analysis) => process.send?.({ id, analysis }),
    (error: unknown) => process.send?.({ id, fault: error instanceof Error ? error.stack : String(error) }),
  )
})
process.on('disconnect', () => process.exit())
