import { openTracks } from './gpx/tracks.ts'
import { sweep } from './linear/sweep.ts'
import { note, openTally, report } from './linear/tally.ts'
import type { Reader } from './recording.ts'

// GPX: tracks, routes and waypoints as XML. Each track and each route is a channel, all waypoints are one; points
// without a time cannot be told and are reported.

export const gpx: Reader = {
  format: 'gpx',
  recognises(head) {
    const text = Buffer.from(head).toString('utf8').trimStart()
    return text.startsWith('<') && /<(?:[\w.-]+:)?gpx[\s>]/i.test(text)
  },
  async scan(source, visitor, options) {
    const size = source.size()
    const tracks = openTracks(visitor)
    const zeros = openTally()
    await sweep(source, { from: 0, to: size }, visitor, options, (block) => {
      const eaten = tracks.eat(block)
      for (let at = block.bytes.indexOf(0); at >= 0 && at < eaten; at = block.bytes.indexOf(0, at + 1)) {
        note(zeros, block.offset + at)
      }
      return eaten
    })
    report(
      visitor,
      'chunk_corrupt',
      zeros,
      `${zeros.count} bytes are zero, which text has none of, the first at byte ${zeros.at}; what stood there is lost`,
      { value: zeros.count },
    )
    const { told, isWhole, wasDamaged } = tracks.end()
    if (size === 0) visitor.finding({ code: 'recording_empty', detail: 'the file has no bytes' })
    else if (!isWhole) {
      const detail = `the file ends after ${size} bytes without </gpx>; what came behind is lost`
      visitor.finding({ code: 'recording_truncated', detail })
    } else if (told === 0 && !wasDamaged && zeros.count === 0) {
      const detail = `${size} bytes of GPX hold no point with a time`
      visitor.finding({ code: 'recording_empty', detail })
    }
    return { kind: 'unix' }
  },
}
