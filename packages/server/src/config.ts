import { isIP } from 'node:net'
import { resolve } from 'node:path'

// The only file that reads the environment. Wrong values are refused by name, all of them at once.

export type Config = {
  /** Serves the API, works on jobs, or both. */
  role: 'all' | 'api' | 'worker'
  host: string
  port: number
  dataDir: string
  /** Public addresses, without a slash at the end. Undefined: derived from where the service listens. */
  baseUrl: string | undefined
  uploadUrl: string | undefined
  consoleUrl: string | undefined
  /** Undefined: the embedded PostgreSQL in the data directory. */
  databaseUrl: string | undefined
  /** Of the pool for requests and jobs. Undefined: as many as the pool has by itself. */
  databaseConnections: number | undefined
  /** Undefined: kept in the data directory. */
  secret: string | undefined
  /** While the secret is exchanged: the one to come, or the one that was. */
  nextSecret: string | undefined
  previousSecret: string | undefined
  /** Undefined: on the disk, in the data directory. */
  s3: S3Config | undefined
  /** Requests a minute for each key. */
  rateLimit: number
  /** Undefined: each node counts its share of what is limited. */
  redisUrl: string | undefined
  uploadTtlS: number
  corsOrigins: string[]
  /** Whose word on where a request comes from is taken: addresses, or networks such as 10.0.0.0/8. */
  trustedProxies: string[]
  /** Length of the windows that a recording is cut into where nothing better is found. */
  segmentS: number
  /** What reading one recording may take. */
  processingMemoryMb: number
  processingTimeS: number
  /** Where webhooks may go: public https addresses, or loopback and private ones too. */
  webhookTargets: 'public' | 'local'
  /** Multiplies every time of the retry schedule, for tests and sandboxes. */
  webhookRetryScale: number
  /** How long events and what became of their deliveries can be asked for. */
  eventRetentionDays: number
  /** Another service that members may sign in with, by OpenID Connect. */
  oidc: { issuer: string; clientId: string; clientSecret: string; name: string } | undefined
  logLevel: LogLevel
}

export type S3Config = {
  bucket: string
  endpoint: string
  region: string
  forcePathStyle: boolean
  /** Undefined: those of the machine, as the tools of AWS find them. */
  credentials: { accessKeyId: string; secretAccessKey: string; sessionToken: string | undefined } | undefined
}

const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const
export type LogLevel = (typeof logLevels)[number]

const MIN_SECRET_CHARACTERS = 32

export class ConfigError extends Error {}

export function readConfig(env: NodeJS.ProcessEnv): Config {
  const { read, problems, finish } = reader(env)
  const config: Config = {
    ...databaseConfig(read),
    databaseConnections: read('TAPEDECK_DATABASE_CONNECTIONS', undefined, integer(2, 80)),
    role: read('TAPEDECK_ROLE', 'all', oneOf('all', 'api', 'worker')),
    host: read('TAPEDECK_HOST', '127.0.0.1', hostName),
    port: read('TAPEDECK_PORT', 8420, integer(0, 65_535)),
    baseUrl: read('TAPEDECK_BASE_URL', undefined, httpUrl),
    uploadUrl: read('TAPEDECK_UPLOAD_URL', undefined, httpUrl),
    consoleUrl: read('TAPEDECK_CONSOLE_URL', undefined, httpUrl),
    secret: read('TAPEDECK_SECRET', undefined, secret),
    nextSecret: read('TAPEDECK_SECRET_NEXT', undefined, secret),
    previousSecret: read('TAPEDECK_SECRET_PREVIOUS', undefined, secret),
    rateLimit: read('TAPEDECK_RATE_LIMIT', 1000, integer(1, 1_000_000_000)),
    redisUrl: read('REDIS_URL', undefined, redisAddress),
    uploadTtlS: read('TAPEDECK_UPLOAD_TTL_S', 86_400, integer(1, 7 * 86_400)),
    corsOrigins: read('TAPEDECK_CORS_ORIGINS', [], origins),
    trustedProxies: read('TAPEDECK_TRUSTED_PROXIES', [], networks),
    segmentS: read('TAPEDECK_SEGMENT_S', 30, integer(1, 86_400)),
    processingMemoryMb: read('TAPEDECK_PROCESSING_MEMORY_MB', 1024, integer(256, 1_000_000)),
    processingTimeS: read('TAPEDECK_PROCESSING_TIME_S', 1800, integer(1, 86_400)),
    webhookTargets: 'public',
    webhookRetryScale: read('TAPEDECK_WEBHOOK_RETRY_SCALE', 1, scale),
    eventRetentionDays: read('TAPEDECK_EVENT_RETENTION_DAYS', 30, integer(1, 3650)),
    oidc: undefined,
    s3: undefined,
    logLevel: read('TAPEDECK_LOG_LEVEL', 'info', oneOf(...logLevels)),
  }
  config.oidc = oidcConfig(read, problems)
  config.s3 = s3Config(read, problems)
  // Whoever listens on loopback alone tries things out on one machine, receivers too.
  const nearby: Config['webhookTargets'] = isLoopback(config.host) ? 'local' : 'public'
  config.webhookTargets = read('TAPEDECK_WEBHOOK_TARGETS', nearby, oneOf('public', 'local'))
  if (
    config.databaseUrl &&
    !config.secret &&
    !problems.some((problem) => problem.startsWith('TAPEDECK_SECRET'))
  ) {
    problems.push('TAPEDECK_SECRET is required with DATABASE_URL: every node must sign with the same secret')
  }
  if (
    config.role !== 'all' &&
    !config.databaseUrl &&
    !problems.some((problem) => problem.startsWith('DATABASE_URL'))
  ) {
    problems.push(
      `DATABASE_URL is required with TAPEDECK_ROLE=${config.role}: the embedded database serves one process`,
    )
  }
  problems.push(...secretProblems(config))
  return finish(config)
}

function secretProblems({ secret, nextSecret, previousSecret }: Config): string[] {
  if (nextSecret && previousSecret)
    return ['TAPEDECK_SECRET_NEXT and TAPEDECK_SECRET_PREVIOUS are two steps of one change: set one of them']
  const other = nextSecret ?? previousSecret
  const name = nextSecret ? 'TAPEDECK_SECRET_NEXT' : 'TAPEDECK_SECRET_PREVIOUS'
  if (other && !secret) return [`${name} needs TAPEDECK_SECRET`]
  return other && other === secret ? [`${name} must differ from TAPEDECK_SECRET`] : []
}

/** All that a command beside the service needs. */
export function readDatabaseConfig(env: NodeJS.ProcessEnv): Pick<Config, 'dataDir' | 'databaseUrl'> {
  const { read, finish } = reader(env)
  return finish(databaseConfig(read))
}

/** Where recordings are, for a command beside the service. */
export function readStorageConfig(env: NodeJS.ProcessEnv): Pick<Config, 'dataDir' | 's3'> {
  const { read, problems, finish } = reader(env)
  return finish({ dataDir: databaseConfig(read).dataDir, s3: s3Config(read, problems) })
}

/** Where people open the console, as far as the settings can say it. */
export function readConsoleUrl(env: NodeJS.ProcessEnv): string {
  const { read, finish } = reader(env)
  const host = read('TAPEDECK_HOST', '127.0.0.1', hostName)
  const port = read('TAPEDECK_PORT', 8420, integer(0, 65_535))
  const baseUrl = read(
    'TAPEDECK_BASE_URL',
    `http://${host.includes(':') ? `[${host}]` : host}:${port}`,
    httpUrl,
  )
  return finish(read('TAPEDECK_CONSOLE_URL', `${baseUrl}/console`, httpUrl))
}

type Read = <T>(name: string, fallback: T, parse: (text: string) => T) => T

function databaseConfig(read: Read): Pick<Config, 'dataDir' | 'databaseUrl'> {
  return {
    dataDir: resolve(read('TAPEDECK_DATA_DIR', './data', String)),
    databaseUrl: read('DATABASE_URL', undefined, postgresUrl),
  }
}

function oidcConfig(read: Read, problems: string[]): Config['oidc'] {
  const issuer = read('TAPEDECK_OIDC_ISSUER', '', httpUrl)
  const clientId = read('TAPEDECK_OIDC_CLIENT_ID', '', String)
  const clientSecret = read('TAPEDECK_OIDC_CLIENT_SECRET', '', String)
  const name = read('TAPEDECK_OIDC_NAME', 'single sign-on', String)
  const given = [issuer, clientId, clientSecret].filter((value) => value !== '').length
  if (given === 3) return { issuer, clientId, clientSecret, name }
  if (given > 0 && !problems.some((problem) => problem.startsWith('TAPEDECK_OIDC_'))) {
    problems.push(
      'TAPEDECK_OIDC_ISSUER, TAPEDECK_OIDC_CLIENT_ID and TAPEDECK_OIDC_CLIENT_SECRET belong together',
    )
  }
  return undefined
}

function s3Config(read: Read, problems: string[]): Config['s3'] {
  const storage = read('TAPEDECK_STORAGE', 'disk', oneOf('disk', 's3'))
  const bucket = read('S3_BUCKET', '', bucketName)
  const endpoint = read('S3_ENDPOINT', undefined, httpUrl)
  const region = read('S3_REGION', 'us-east-1', regionName)
  // Stores of one's own rarely have a host name for each bucket.
  const pathStyle = read('S3_FORCE_PATH_STYLE', endpoint ? 'true' : 'false', oneOf('true', 'false'))
  const accessKeyId = read('AWS_ACCESS_KEY_ID', '', String)
  const secretAccessKey = read('AWS_SECRET_ACCESS_KEY', '', String)
  const sessionToken = read('AWS_SESSION_TOKEN', undefined, String)
  if (storage === 'disk') return undefined
  if (bucket === '' && !problems.some((problem) => problem.startsWith('S3_BUCKET')))
    problems.push('S3_BUCKET is required with TAPEDECK_STORAGE=s3')
  if ((accessKeyId === '') !== (secretAccessKey === ''))
    problems.push('AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY belong together')
  return {
    bucket,
    endpoint: endpoint ?? `https://s3.${region}.amazonaws.com`,
    region,
    forcePathStyle: pathStyle === 'true',
    credentials: accessKeyId === '' ? undefined : { accessKeyId, secretAccessKey, sessionToken },
  }
}

function reader(env: NodeJS.ProcessEnv) {
  const problems: string[] = []
  const read: Read = (name, fallback, parse) => {
    const text = env[name]
    if (text === undefined || text === '') return fallback
    try {
      return parse(text)
    } catch (error) {
      problems.push(`${name} ${error instanceof Error ? error.message : error}`)
      return fallback
    }
  }
  const finish = <T>(config: T): T => {
    if (problems.length > 0) throw new ConfigError(problems.join('\n'))
    return config
  }
  return { read, problems, finish }
}

function integer(from: number, to: number) {
  return (text: string): number => {
    const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN
    if (!(value >= from && value <= to))
      throw new Error(`must be an integer from ${from} to ${to}, not ${text}`)
    return value
  }
}

function hostName(text: string): string {
  if (!/^[A-Za-z0-9.:-]+$/.test(text)) throw new Error(`must be a host name or an address, not ${text}`)
  return text
}

function httpUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url || !['http:', 'https:'].includes(url.protocol) || url.search || url.hash || url.username) {
    throw new Error(`must be an http or https address without query, fragment or user, not ${text}`)
  }
  return text.replace(/\/+$/, '')
}

// The value may hold a password: it is not repeated.
function postgresUrl(text: string): string {
  if (!/^postgres(ql)?:\/\//.test(text)) throw new Error('must begin with postgres:// or postgresql://')
  return text
}

// So may this one.
function redisAddress(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  const isRedis = url && ['redis:', 'rediss:'].includes(url.protocol) && url.hostname !== ''
  if (!isRedis || url.search || url.hash || !/^\/?\d{0,5}$/.test(url.pathname))
    throw new Error('must be redis://[user:password@]host[:port][/database], or rediss:// for TLS')
  return text
}

function secret(text: string): string {
  if (text.length < MIN_SECRET_CHARACTERS)
    throw new Error(`must have at least ${MIN_SECRET_CHARACTERS} characters`)
  return text
}

function origins(text: string): string[] {
  return text.split(',').map((item) => {
    const origin = item.trim()
    if (origin !== '*' && !(URL.canParse(origin) && new URL(origin).origin === origin)) {
      throw new Error(
        `must be * or origins such as https://app.example.com, separated by commas, not ${origin}`,
      )
    }
    return origin
  })
}

function networks(text: string): string[] {
  return text.split(',').map((item) => {
    const network = item.trim()
    const [address = '', bits, ...more] = network.split('/')
    const most = isIP(address) === 6 ? 128 : 32
    const isNetwork = bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= most)
    if (isIP(address) === 0 || !isNetwork || more.length > 0)
      throw new Error(`must be addresses or networks such as 10.0.0.0/8, separated by commas, not ${network}`)
    return network
  })
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || host.startsWith('127.')
}

function oneOf<Choice extends string>(...choices: Choice[]) {
  return (text: string): Choice => {
    const chosen = choices.find((choice) => choice === text)
    if (chosen === undefined) throw new Error(`must be one of ${choices.join(', ')}, not ${text}`)
    return chosen
  }
}

function bucketName(text: string): string {
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]{1,254}$/.test(text))
    throw new Error(`must be the name of a bucket, not ${text}`)
  return text
}

function regionName(text: string): string {
  if (!/^[A-Za-z0-9_-]{1,64}$/.test(text)) throw new Error(`must be the name of a region, not ${text}`)
  return text
}

function scale(text: string): number {
  const value = /^\d{1,3}(\.\d{1,9})?$/.test(text) ? Number(text) : Number.NaN
  if (!(value > 0 && value <= 1)) throw new Error(`must be a number above 0 and up to 1, not ${text}`)
  return value
}
