import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ConfigError, readConfig } from '../src/config.ts'

test('an empty environment gives the embedded defaults', () => {
  const { dataDir, ...config } = readConfig({})
  assert.match(dataDir, /\/data$/)
  assert.deepEqual(config, {
    role: 'all',
    host: '127.0.0.1',
    port: 8420,
    baseUrl: undefined,
    uploadUrl: undefined,
    consoleUrl: undefined,
    databaseUrl: undefined,
    databaseConnections: undefined,
    secret: undefined,
    nextSecret: undefined,
    previousSecret: undefined,
    s3: undefined,
    rateLimit: 1000,
    redisUrl: undefined,
    uploadTtlS: 86_400,
    corsOrigins: [],
    trustedProxies: [],
    segmentS: 30,
    processingMemoryMb: 1024,
    processingTimeS: 1800,
    webhookTargets: 'local',
    webhookRetryScale: 1,
    eventRetentionDays: 30,
    oidc: undefined,
    logLevel: 'info',
  })
})

test('a node with one role needs a database that others can use', () => {
  assert.throws(
    () => readConfig({ TAPEDECK_ROLE: 'worker' }),
    /DATABASE_URL is required with TAPEDECK_ROLE=worker/,
  )
})

test('S3 needs its bucket, and keys come in pairs', () => {
  assert.throws(() => readConfig({ TAPEDECK_STORAGE: 's3', AWS_ACCESS_KEY_ID: 'x' }), {
    message:
      'S3_BUCKET is required with TAPEDECK_STORAGE=s3\nAWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY belong together',
  })
})

test('a store without an address is that of AWS, with a host name for each bucket', () => {
  const env = { TAPEDECK_STORAGE: 's3', S3_BUCKET: 'recordings' }
  assert.deepEqual(readConfig({ ...env, S3_REGION: 'eu-central-1' }).s3, {
    bucket: 'recordings',
    endpoint: 'https://s3.eu-central-1.amazonaws.com',
    region: 'eu-central-1',
    forcePathStyle: false,
    credentials: undefined,
  })
  const own = {
    ...env,
    S3_ENDPOINT: 'http://store:9000/s3',
    AWS_ACCESS_KEY_ID: 'a',
    AWS_SECRET_ACCESS_KEY: 'b',
  }
  assert.deepEqual(readConfig(own).s3, {
    bucket: 'recordings',
    endpoint: 'http://store:9000/s3',
    region: 'us-east-1',
    forcePathStyle: true,
    credentials: { accessKeyId: 'a', secretAccessKey: 'b', sessionToken: undefined },
  })
})

test('every wrong value is refused by name, all at once', () => {
  const wrong = {
    TAPEDECK_ROLE: 'both',
    TAPEDECK_HOST: 'a b',
    TAPEDECK_PORT: '70000',
    TAPEDECK_BASE_URL: 'ftp://x',
    TAPEDECK_UPLOAD_URL: 'nonsense',
    TAPEDECK_CONSOLE_URL: 'https://x/?a=b',
    DATABASE_URL: 'mysql://x',
    TAPEDECK_DATABASE_CONNECTIONS: '1',
    TAPEDECK_SECRET: 'short',
    TAPEDECK_SECRET_NEXT: 'short',
    TAPEDECK_SECRET_PREVIOUS: 'short',
    TAPEDECK_RATE_LIMIT: '0',
    REDIS_URL: 'http://x',
    TAPEDECK_UPLOAD_TTL_S: '1.5',
    TAPEDECK_CORS_ORIGINS: 'https://a.example/path',
    TAPEDECK_TRUSTED_PROXIES: '10.0.0.0/8,10.0.0.0/33',
    TAPEDECK_WEBHOOK_TARGETS: 'anywhere',
    TAPEDECK_WEBHOOK_RETRY_SCALE: '2',
    TAPEDECK_EVENT_RETENTION_DAYS: '0',
    TAPEDECK_LOG_LEVEL: 'loud',
    TAPEDECK_STORAGE: 'tape',
    S3_BUCKET: 'a/b',
    S3_ENDPOINT: 's3.example.com',
    S3_REGION: 'a b',
    S3_FORCE_PATH_STYLE: 'yes',
  }
  assert.throws(
    () => readConfig(wrong),
    (error) => {
      assert.ok(error instanceof ConfigError)
      assert.deepEqual(
        error.message
          .split('\n')
          .map((line) => line.split(' ')[0])
          .sort(),
        Object.keys(wrong).sort(),
      )
      return true
    },
  )
})

test('a database of one’s own needs a secret of one’s own', () => {
  assert.throws(() => readConfig({ DATABASE_URL: 'postgres://x/y' }), /TAPEDECK_SECRET is required/)
})

test('a second secret is for one step of an exchange', () => {
  const [one, two] = ['1'.repeat(32), '2'.repeat(32)]
  const refuses = (env: NodeJS.ProcessEnv, message: RegExp) => assert.throws(() => readConfig(env), message)
  const next = { TAPEDECK_SECRET_NEXT: two }
  refuses(next, /TAPEDECK_SECRET_NEXT needs TAPEDECK_SECRET/)
  refuses({ ...next, TAPEDECK_SECRET: two }, /TAPEDECK_SECRET_NEXT must differ from TAPEDECK_SECRET/)
  refuses({ ...next, TAPEDECK_SECRET: one, TAPEDECK_SECRET_PREVIOUS: one }, /two steps of one change/)
})

test('a refused value that may hold a password is not repeated', () => {
  assert.throws(
    () => readConfig({ DATABASE_URL: 'mysql://me:hunter2@x' }),
    (error) => error instanceof Error && !error.message.includes('hunter2'),
  )
  for (const wrong of [
    'http://:hunter2@x',
    'redis://:hunter2@x/nought',
    'redis://:hunter2@x/0?tls=yes',
    'hunter2',
  ])
    assert.throws(
      () => readConfig({ REDIS_URL: wrong }),
      (error) =>
        error instanceof Error && /^REDIS_URL must/.test(error.message) && !error.message.includes('hunter2'),
    )
  for (const right of ['redis://x', 'rediss://me:hunter2@x:6380/3', 'redis://[::1]:6379'])
    assert.equal(readConfig({ REDIS_URL: right }).redisUrl, right)
})

test('webhooks may go to local addresses where the service itself listens on loopback, and not elsewhere', () => {
  assert.equal(readConfig({ TAPEDECK_HOST: '::1' }).webhookTargets, 'local')
  assert.equal(readConfig({ TAPEDECK_HOST: '0.0.0.0' }).webhookTargets, 'public')
  assert.equal(readConfig({ TAPEDECK_WEBHOOK_TARGETS: 'public' }).webhookTargets, 'public')
})

test('public addresses lose the slash at their end', () => {
  assert.equal(
    readConfig({ TAPEDECK_BASE_URL: 'https://api.example.com/' }).baseUrl,
    'https://api.example.com',
  )
})

test('the other way to sign in is set up whole or not at all', () => {
  const whole = {
    TAPEDECK_OIDC_ISSUER: 'https://id.example.com/',
    TAPEDECK_OIDC_CLIENT_ID: 'tapedeck',
    TAPEDECK_OIDC_CLIENT_SECRET: 'a secret',
  }
  assert.deepEqual(readConfig(whole).oidc, {
    issuer: 'https://id.example.com',
    clientId: 'tapedeck',
    clientSecret: 'a secret',
    name: 'single sign-on',
  })
  const { TAPEDECK_OIDC_CLIENT_SECRET: _, ...half } = whole
  assert.throws(() => readConfig(half), /TAPEDECK_OIDC_ISSUER, .* belong together/)
})
