// npm run check: everything that can be said of the code without running it.
import { spawnSync } from 'node:child_process'

const checks: [name: string, command: string, args: string[]][] = [
  ['formatter and linter', 'node_modules/.bin/biome', ['check', '.']],
  ['types', 'node_modules/.bin/tsc', ['--noEmit', '--project', '.']],
  ['types of the console', 'node_modules/.bin/tsc', ['--noEmit', '--project', 'packages/console']],
]

let failed = false
for (const [name, command, args] of checks) {
  process.stdout.write(`${name} …\n`)
  failed = spawnSync(command, args, { stdio: 'inherit' }).status !== 0 || failed
}
failed = !auditPasses() || failed
process.exitCode = failed ? 1 : 0

/** Only what runs in the service counts; a registry that gives no answer is told and does not fail the check. */
function auditPasses(): boolean {
  process.stdout.write('dependency audit …\n')
  const { stdout } = spawnSync('npm', ['audit', '--omit=dev', '--audit-level=high', '--json'], {
    encoding: 'utf8',
  })
  const report = parse(stdout)
  if (!report?.metadata) {
    process.stdout.write('  not done: the registry gave no audit report\n')
    return true
  }
  const { high = 0, critical = 0 } = report.metadata.vulnerabilities
  if (high + critical > 0) process.stdout.write(stdout)
  return high + critical === 0
}

function parse(
  text: string,
): { metadata?: { vulnerabilities: { high?: number; critical?: number } } } | undefined {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
