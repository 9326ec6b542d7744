import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'

export type Metrics = {
  observeRequest(method: string, route: string, status: number, seconds: number): void
  partBytes(bytes: number): void
  gauge(name: string, help: string, read: () => number | undefined): void
  /** One value for each name of a label. */
  gauges(name: string, help: string, label: string, read: () => Iterable<[string, number]>): void
  /** Adds to a count. */
  counter(name: string, help: string): (count: number) => void
  /** The text that Prometheus reads. */
  text(): Promise<string>
  contentType: string
}

export function openMetrics(): Metrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const requests = new Histogram({
    name: 'tapedeck_http_request_seconds',
    help: 'Time to answer a request, by route and status',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 30],
    registers: [registry],
  })
  const received = new Counter({
    name: 'tapedeck_part_bytes_total',
    help: 'Bytes of parts that were acknowledged',
    registers: [registry],
  })
  return {
    observeRequest: (method, route, status, seconds) =>
      requests.labels(method, route, String(status)).observe(seconds),
    partBytes: (bytes) => received.inc(bytes),
    gauge(name, help, read) {
      const gauge: Gauge = new Gauge({
        name,
        help,
        registers: [registry],
        collect() {
          const value = read()
          // What is not known is not told, rather than as 0.
          if (value === undefined) gauge.remove()
          else gauge.set(value)
        },
      })
    },
    gauges(name, help, label, read) {
      const gauge: Gauge = new Gauge({
        name,
        help,
        labelNames: [label],
        registers: [registry],
        collect() {
          gauge.reset()
          for (const [key, value] of read()) gauge.labels(key).set(value)
        },
      })
    },
    counter(name, help) {
      const counter = new Counter({ name, help, registers: [registry] })
      return (count) => counter.inc(count)
    },
    text: () => registry.metrics(),
    contentType: registry.contentType,
  }
}
