import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePorts } from '../free-ports.ts'
import { ensureChroot, folderOfRun, release, run } from './chroot.ts'
import { answers, openDaemons } from './daemons.ts'
import type { Store } from './store.ts'

// OpenStack Swift with its S3 face: a proxy before one server each for accounts, containers and objects. It refuses bytes
// that do not hash to their checksum, and answers in other ways than AWS where the standard leaves room.

const ROOT = '/var/cache/tapedeck-swift'
const SUITE = 'trixie'
const PACKAGES = ['python3-swift', 'memcached']
const KINDS = ['account', 'container', 'object'] as const

export async function startSwift(): Promise<Store> {
  ensureChroot(ROOT, SUITE, PACKAGES)
  const dir = folderOfRun(ROOT, 'swift')
  const outside = join(ROOT, dir)
  mkdirSync(join(outside, 'devices', 'disk'), { recursive: true })
  mkdirSync(join(outside, 'log'))
  // Swift looks for this one file at this one place.
  mkdirSync(join(ROOT, 'etc/swift'), { recursive: true })
  writeFileSync(
    join(ROOT, 'etc/swift/swift.conf'),
    '[swift-hash]\nswift_hash_path_prefix = tape\nswift_hash_path_suffix = deck\n',
  )
  const [proxyPort = 0, cachePort = 0, ...ports] = await freePorts(2 + KINDS.length)
  const daemons = openDaemons(join(outside, 'log'))
  try {
    for (const [index, kind] of KINDS.entries()) {
      const port = ports[index] ?? 0
      run('python3', ['-c', MAKE_RING, kind, String(port), `${dir}/${kind}.ring.gz`], ROOT)
      writeFileSync(join(outside, `${kind}.conf`), serverSettings(dir, kind, port))
    }
    writeFileSync(join(outside, 'proxy.conf'), proxySettings(dir, proxyPort, cachePort))
    const cache = ['-u', 'root', '-l', '127.0.0.1', '-p', String(cachePort), '-m', '64']
    daemons.start('memcached', 'chroot', [ROOT, 'memcached', ...cache])
    for (const kind of [...KINDS, 'proxy'])
      daemons.start(kind, 'chroot', [ROOT, 'python3', '-c', SERVE, `${dir}/${kind}.conf`, `${kind}-server`])
    for (const port of [...ports, proxyPort])
      await daemons.until(`port ${port} answers`, () => answers(`http://127.0.0.1:${port}/`))
  } catch (error) {
    await daemons.stop()
    throw error
  }
  return {
    name: 'Swift',
    endpoint: `http://127.0.0.1:${proxyPort}`,
    region: 'us-east-1',
    accessKeyId: 'test:tester',
    secretAccessKey: 'testing',
    async stop() {
      await daemons.stop()
      rmSync(outside, { recursive: true, force: true })
      release(ROOT)
    },
  }
}

/** Where objects of a kind are: on one device of one server. */
const MAKE_RING = `
import sys
from swift.common.ring import RingBuilder
kind, port, path = sys.argv[1:]
builder = RingBuilder(part_power=4, replicas=1, min_part_hours=0)
where = dict(ip='127.0.0.1', port=int(port), replication_ip='127.0.0.1', replication_port=int(port))
builder.add_dev(dict(where, id=0, region=1, zone=1, device='disk', weight=1, meta=''))
builder.rebalance()
builder.get_ring().save(path)
`

const SERVE = `
import sys
from swift.common.wsgi import run_wsgi
sys.exit(run_wsgi(sys.argv[1], sys.argv[2]))
`

function common(dir: string, port: number): Record<string, string | number> {
  return {
    bind_ip: '127.0.0.1',
    bind_port: port,
    user: 'root',
    swift_dir: dir,
    devices: `${dir}/devices`,
    mount_check: 'false',
    disable_fallocate: 'true',
    // One process that we can end.
    workers: 0,
    log_level: 'ERROR',
  }
}

function serverSettings(dir: string, kind: string, port: number): string {
  return ini({
    DEFAULT: common(dir, port),
    'pipeline:main': { pipeline: `${kind}-server` },
    [`app:${kind}-server`]: { use: `egg:swift#${kind}` },
  })
}

function proxySettings(dir: string, port: number, cachePort: number): string {
  const plain = ['catch_errors', 'bulk', 'slo', 'dlo']
  return ini({
    DEFAULT: common(dir, port),
    'pipeline:main': { pipeline: 'catch_errors memcache bulk s3api tempauth slo dlo proxy-server' },
    'app:proxy-server': { use: 'egg:swift#proxy', account_autocreate: 'true' },
    ...Object.fromEntries(plain.map((name) => [`filter:${name}`, { use: `egg:swift#${name}` }])),
    'filter:memcache': { use: 'egg:swift#memcache', memcache_servers: `127.0.0.1:${cachePort}` },
    'filter:tempauth': { use: 'egg:swift#tempauth', user_test_tester: 'testing .admin' },
    'filter:s3api': { use: 'egg:swift#s3api', location: 'us-east-1' },
  })
}

function ini(sections: Record<string, Record<string, string | number>>): string {
  return Object.entries(sections)
    .map(
      ([name, values]) =>
        `[${name}]\n${Object.entries(values)
          .map(([key, value]) => `${key} = ${value}\n`)
          .join('')}`,
    )
    .join('\n')
}
