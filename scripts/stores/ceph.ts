import { randomUUID } from 'node:crypto'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePorts } from '../free-ports.ts'
import { ensureChroot, folderOfRun, release, run } from './chroot.ts'
import { answers, openDaemons } from './daemons.ts'
import type { Store } from './store.ts'

// Ceph with its S3 gateway: one monitor, three OSDs that keep each object twice, one RADOS gateway. All of it listens on
// loopback alone, runs in the foreground below us, and is made anew at each start.

const ROOT = '/var/cache/tapedeck-ceph'
/** The first Debian with Ceph 20, which compares SHA-256. */
const SUITE = 'forky'
const PACKAGES = ['ceph-mon', 'ceph-osd', 'ceph-common', 'radosgw']
const OSDS = 3
const REGION = 'us-east-1'
const keys = { accessKeyId: 'tapedeck', secretAccessKey: 'tapedeck-secret' }

export async function startCeph(): Promise<Store> {
  ensureChroot(ROOT, SUITE, PACKAGES)
  const dir = folderOfRun(ROOT, 'ceph')
  const outside = join(ROOT, dir)
  const [monitorPort = 0, oldMonitorPort = 0, gatewayPort = 0] = await freePorts(3)
  const cluster = {
    fsid: randomUUID(),
    monitors: `[v2:127.0.0.1:${monitorPort},v1:127.0.0.1:${oldMonitorPort}]`,
  }
  for (const folder of ['run', 'log', 'mon', ...numbers().map((id) => `osd-${id}`)])
    mkdirSync(join(outside, folder), { recursive: true })
  writeFileSync(join(outside, 'ceph.conf'), settings(dir, cluster, gatewayPort))

  const daemons = openDaemons(join(outside, 'log'))
  const inside = (program: string, ...args: string[]) =>
    run(program, ['-c', `${dir}/ceph.conf`, ...args], ROOT)
  const start = (name: string, program: string, ...args: string[]) =>
    daemons.start(name, 'chroot', [ROOT, program, '-c', `${dir}/ceph.conf`, '-f', ...args])
  const stop = async () => {
    await daemons.stop()
    rmSync(outside, { recursive: true, force: true })
    release(ROOT)
  }
  try {
    const map = `${dir}/monmap`
    run('monmaptool', ['--create', '--fsid', cluster.fsid, '--addv', 'a', cluster.monitors, map], ROOT)
    inside('ceph-mon', '-i', 'a', '--mkfs', '--monmap', map)
    start('mon', 'ceph-mon', '-i', 'a')
    for (const id of numbers()) {
      const uuid = randomUUID()
      inside('ceph', '--connect-timeout', '60', 'osd', 'new', uuid)
      inside('ceph-osd', '-i', id, '--mkfs', '--osd-uuid', uuid)
      start(`osd-${id}`, 'ceph-osd', '-i', id)
    }
    start('gateway', 'radosgw', '-n', 'client.rgw.a')
    const endpoint = `http://127.0.0.1:${gatewayPort}`
    await daemons.until('the gateway answers', () => answers(endpoint))
    const { accessKeyId, secretAccessKey } = keys
    const user = ['--uid=tapedeck', '--display-name=tapedeck']
    inside(
      'radosgw-admin',
      ...['user', 'create', ...user, `--access-key=${accessKeyId}`, `--secret-key=${secretAccessKey}`],
    )
    return { name: 'Ceph', endpoint, region: REGION, ...keys, stop }
  } catch (error) {
    // What the daemons said stays for whoever looks for the reason.
    await daemons.stop()
    throw error
  }
}

const numbers = () => Array.from({ length: OSDS }, (_, id) => String(id))

function settings(dir: string, { fsid, monitors }: { fsid: string; monitors: string }, port: number): string {
  const global = {
    fsid,
    'mon host': monitors,
    'public addr': '127.0.0.1',
    'cluster addr': '127.0.0.1',
    // Nobody but us reaches it.
    'auth cluster required': 'none',
    'auth service required': 'none',
    'auth client required': 'none',
    'ms mon client mode': 'crc',
    'run dir': `${dir}/run`,
    'admin socket': `${dir}/run/$name.asok`,
    'log file': `${dir}/log/$name.log`,
    'mon data': `${dir}/mon`,
    'osd data': `${dir}/osd-$id`,
    // Real files and a real log; a sparse file stands for each disk.
    'osd objectstore': 'bluestore',
    'bluestore block size': 20 * 2 ** 30,
    'osd memory target': 2 ** 30,
    'osd crush chooseleaf type': 0,
    'osd pool default size': 2,
    'osd pool default min size': 1,
    'osd pool default pg num': 8,
    'osd pool default pg autoscale mode': 'off',
    'mon max pg per osd': 1000,
    'rgw frontends': `beast endpoint=127.0.0.1:${port} tcp_nodelay=1`,
    'rgw dynamic resharding': false,
    'rgw enable apis': 's3',
  }
  const lines = Object.entries(global).map(([name, value]) => `${name} = ${value}`)
  return ['[global]', ...lines, ''].join('\n')
}
