// npm test [FILE …] [-- FLAG …]: every test of the project, or those named; flags are those of node --test.
import { spawn } from 'node:child_process'
import { existsSync, globSync } from 'node:fs'

const given = process.argv.slice(2)
const named = given.filter((argument) => !argument.startsWith('--'))
const flags = given.filter((argument) => argument.startsWith('--'))
const all = globSync(['*.test.ts', 'soak/*.test.ts', 'packages/*/{src,test}/**/*.test.ts']).sort()
const files = named.length > 0 ? named : all
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
    '--test-concurrency=4',
    '--test-global-setup=packages/server/test/support/global-setup.ts',
    ...flags,
    ...files,
  ],
  { stdio: 'inherit' },
)
runner.on('exit', (code) => process.exit(code ?? 1))
