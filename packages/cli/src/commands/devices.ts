import { readFileSync } from 'node:fs'
import type { PutCalibration } from '@tapedeck/sdk'
import type { Context } from '../command.ts'
import { connect } from '../connection.ts'
import { json, table } from '../print.ts'
import { expectArguments, readCount, UsageError } from '../usage.ts'

const DEFAULT_LIMIT = 500

export async function devices([verb, ...rest]: string[], context: Context): Promise<undefined> {
  const { flags, terminal, signal } = context
  switch (verb) {
    case 'list': {
      expectArguments(rest)
      const limit = readCount('limit', flags.limit) ?? DEFAULT_LIMIT
      const found = await connect(context).tapedeck.devices.list({}, { signal }).toArray({ limit })
      if (flags.json) return void terminal.print(json({ data: found }))
      const rows = found.map((device) => [
        device.name,
        String(device.session_count),
        device.last_created_at,
        device.calibration_version === null ? '-' : String(device.calibration_version),
        device.channels.join(' ') || '-',
      ])
      return void terminal.print(
        table([['NAME', 'SESSIONS', 'LAST', 'CALIBRATION', 'CHANNELS'], ...rows], terminal.width),
      )
    }
    case 'calibration': {
      const [name = ''] = expectArguments(rest, 'NAME')
      const found = await connect(context).tapedeck.devices.retrieveCalibration(name, { signal })
      return void terminal.print(flags.json ? json(found) : `${JSON.stringify(found, null, 2)}\n`)
    }
    case 'calibrate': {
      const [name = '', file = ''] = expectArguments(rest, 'NAME', 'FILE')
      const stored = await connect(context).tapedeck.devices.putCalibration(name, readCalibration(file), {
        signal,
      })
      return void terminal.print(
        flags.json
          ? json(stored)
          : `stored version ${stored.version} of the calibration of ${stored.device}\n`,
      )
    }
    default:
      throw new UsageError(`devices has list, calibration and calibrate, not ${verb ?? 'nothing'}`)
  }
}

/** What `devices calibration` printed may be edited and stored again. */
function readCalibration(file: string): PutCalibration {
  try {
    const { channels } = JSON.parse(readFileSync(file, 'utf8'))
    return { channels }
  } catch (error) {
    throw new Error(`cannot read ${file}: ${error instanceof Error ? error.message : error}`)
  }
}
