import { workerData } from 'node:worker_threads'
import { uploadParts } from './recording.ts'

// Sends the parts of a session from a thread of its own; a thread gets bytes as plain Uint8Arrays.

const { session, block, blockSha256, connections } = workerData
await uploadParts(
  session,
  { block: Buffer.from(block.buffer), blockSha256: Buffer.from(blockSha256) },
  connections,
)
