import { openWindow } from '../bytes.ts'
import { note, openTally, report } from '../linear/tally.ts'
import type { ScanOptions, Source, Timebase, Visitor } from '../recording.ts'
import { type Box, findMark, mendBox, readBox } from './boxes.ts'
import { type Movie, openMovie } from './movie.ts'

// MP4 and MOV. The boxes at the top are stepped over by their lengths; `moov`, and each `moof` of a fragmented film,
// says everything about the frames, so that `mdat`, which holds them, is not read.

const STEP_WINDOW_BYTES = 1 << 16
const HEADER_BYTES = 8

export async function scanMp4(source: Source, visitor: Visitor, options: ScanOptions): Promise<Timebase> {
  const size = source.size()
  const window = openWindow(source, STEP_WINDOW_BYTES)
  const broken = openTally()
  const mended = openTally()
  const orphans = openTally()
  let movie: Movie | undefined
  let cut: Box | undefined
  for (let at = 0; at < size; visitor.progress(at / size)) {
    options.signal.throwIfAborted()
    const found = await readBox(window, at, size)
    const box = found && (await mendBox(window, found, (at) => note(mended, at)))
    const here = box && { ...box, end: Math.min(box.end, size) }
    if (here?.type === 'moov') movie ??= await openMovie(source, here, visitor, options)
    else if (here?.type === 'moof' && movie) await movie.fragment(window, here)
    else if (here?.type === 'moof') note(orphans, at)
    if (box && box.end <= size) {
      at = box.end
      continue
    }
    // The end of the file is missing, or this length is the damage: only a search can tell.
    const next = await findMark(source, Math.max(at + 1, box?.start ?? 0), options.signal)
    if (next === undefined && (box || size - at < HEADER_BYTES))
      cut = box ?? { type: '', at, start: at, end: size }
    else note(broken, at, { bytes: (next ?? size) - at })
    at = next ?? size
  }
  const timebase = movie?.end() ?? { kind: 'relative', originUnixNs: undefined }
  reportEnd(visitor, size, movie, cut, orphans.count)
  report(
    visitor,
    'chunk_corrupt',
    broken,
    `${broken.bytes} bytes in ${broken.count} places, the first at byte ${broken.at}, are no boxes of a film or have ` +
      'lengths that lead nowhere; reading went on at the next movie or fragment, if there is one',
    { value: broken.bytes },
  )
  report(
    visitor,
    'chunk_corrupt',
    mended,
    `${mended.count} boxes have types that their content contradicts, the first at byte ${mended.at}; they were read ` +
      'as what they begin like',
  )
  return timebase
}

function reportEnd(
  visitor: Visitor,
  size: number,
  movie: Movie | undefined,
  cut: Box | undefined,
  orphans: number,
) {
  if (size === 0) return visitor.finding({ code: 'recording_empty', detail: 'the file has no bytes' })
  const cutAt = cut && `${cutDetail(cut, size)}; `
  if (!movie) {
    const fragments = orphans > 0 ? ` (${orphans} fragments are there, but nothing says what they are)` : ''
    const detail =
      `${cutAt ?? ''}the index (moov) is missing from these ${size} bytes${fragments}: recorders write it last, and ` +
      'without it neither the number of frames nor their times are known'
    return visitor.finding({ code: 'recording_truncated', detail, value: size })
  }
  const { told, lost } = movie.counts()
  if (cut || lost.count > 0) {
    const what =
      lost.count > 0 ? `lost are ${lost.detail}, whose data lies behind the end` : 'no known frame is lost'
    const detail = `${cutAt ?? `the file ends at byte ${size}; `}${what}`
    const { count, t } = lost
    visitor.finding({
      code: 'recording_truncated',
      detail,
      count,
      ...(t !== undefined && { t }),
      value: size,
    })
  } else if (told === 0) {
    visitor.finding({
      code: 'recording_empty',
      detail: 'the film has an index (moov), but no frame is in it',
    })
  }
}

function cutDetail({ type, at, end }: Box, size: number): string {
  if (type === '') return `the file ends at byte ${size}, inside the head of a box at byte ${at}`
  return `the file ends at byte ${size}, but its box ${type} at byte ${at} says that it goes on to byte ${end}`
}
