// npm run make-ready: installs, builds the console, and does what the embedded PostgreSQL would do at its first start, so
// that the service can run from a folder that it may not write to.
import { binaries } from '../packages/server/src/db/embedded/binaries.ts'

binaries()
process.stdout.write('ready to run from a read-only folder\n')
