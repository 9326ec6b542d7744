import { SourceError } from '../errors.ts'
import type { Platform } from '../platform.ts'
import { openLane } from './lane.ts'
import { openXhrSender } from './xhr-sender.ts'

export const platform: Platform = {
  async openPath(path) {
    throw new SourceError('source_unreadable', `a page cannot open ${path}; give it a File or a Blob`)
  },
  openLane,
  openSender: openXhrSender,
  streamsBodies: false,
}
