import type { Platform } from '../platform.ts'
import { openFile } from './file.ts'
import { openHttpSender } from './http-sender.ts'
import { openLane } from './lane.ts'

export const platform: Platform = {
  openPath: openFile,
  openLane,
  openSender: openHttpSender,
  streamsBodies: true,
}
