import { contestants } from './contestants.ts'

// node measure.ts CONTESTANT FILE: runs it once, and prints what it took. A fresh process, so that memory is its own.

export type Measured = {
  seconds: number
  cpuSeconds: number
  messages: number
  bytesRead: number
  peakBytes: number
}

const [name = '', path = ''] = process.argv.slice(2)
const contestant = contestants[name]
if (!contestant) throw new Error(`nobody is called ${name}`)
const startMs = performance.now()
const cpu = process.cpuUsage()
const outcome = await contestant(path)
const seconds = (performance.now() - startMs) / 1000
const { user, system } = process.cpuUsage(cpu)
const peakBytes = process.resourceUsage().maxRSS * 1024
const measured: Measured = { ...outcome, seconds, cpuSeconds: (user + system) / 1e6, peakBytes }
process.stdout.write(JSON.stringify(measured))
