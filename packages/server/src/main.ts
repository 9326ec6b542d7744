import pino from 'pino'
import { startApp } from './app.ts'
import { type Config, ConfigError, readConfig } from './config.ts'
import { welcome, welcomeWorker } from './welcome.ts'

// npm start: the whole service in one process, with its database as a child. People read stdout, machines
// read the log on stderr.

await main()

async function main(): Promise<void> {
  const config = readConfigOrExit()
  const log = pino(
    { level: config.logLevel, serializers: { err: withoutConnection } },
    pino.destination({ dest: 2, sync: false }),
  )
  const stop = stopSignal()
  try {
    const app = await startApp(config, log)
    const isWorker = config.role === 'worker'
    process.stdout.write(
      isWorker ? welcomeWorker(app.addresses) : welcome(app.addresses, app.firstKey, app.firstLink),
    )
    log.info(await stop, 'stopping')
    await app.close()
    process.stdout.write('Tapedeck has stopped.\n')
  } catch (error) {
    process.stderr.write(`tapedeck: ${error instanceof Error ? error.message : error}\n`)
    process.exitCode = 1
  }
  // Whatever might still hold the process, everything of ours is closed.
  log.flush(() => process.exit())
}

/** An error of the database carries its whole connection along, with what could cancel its queries. */
function withoutConnection(error: Error): object {
  const { client: _, ...plain } = pino.stdSerializers.err(error)
  return plain
}

function readConfigOrExit(): Config {
  try {
    return readConfig(process.env)
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    process.stderr.write(`${error.message.replaceAll(/^/gm, 'tapedeck: ')}\n`)
    process.exit(2)
  }
}

/** A signal, or the end of the process that started us. Asked a second time, we leave at once. */
function stopSignal(): Promise<{ reason: string }> {
  return new Promise((resolve) => {
    let asked = 0
    const ask = (reason: string) => {
      asked++
      // Ctrl-C in a terminal reaches us twice, from the terminal and from npm: only a third is impatience.
      if (asked > 2) process.exit(130)
      resolve({ reason })
    }
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, ask)
    if (process.channel) process.on('disconnect', () => resolve({ reason: 'the parent process has ended' }))
  })
}
