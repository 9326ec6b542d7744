// npm test [FILE …]: every test of the project, or those named.
import { spawn } from 'node:child_process'
import { existsSync, globSync } from 'node:fs'

const named = process.argv.slice(2)
const files = named.length > 0 ? named : globSync(['*.test.ts', 'packages/*/{src,test}/**/*.test.ts']).sort()
const missing = files.filter((file) => !existsSync(file))
if (missing.length > 0) {
  process.stderr.write(`there is no test ${missing.join(', ')}\n`)
  process.exit(2)
}
const runner = spawn(
  process.execPath,
  [
    '--disable-warning=ExperimentalWarning',
    '--test',
    '--test-concurrency=2',
    '--test-global-setup=packages/server/test/support/global-setup.ts',
    ...files,
  ],
  { stdio: 'inherit' },
)
runner.on('exit', (code) => process.exit(code ?? 1))
