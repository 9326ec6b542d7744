export type UploadProgress = {
  /** Hashing comes first: the service is told what to expect before it gets a byte. */
  phase: 'hashing' | 'uploading' | 'completing'
  /** Hashed so far; while uploading: with the service, and on their way. */
  bytes: number
  totalBytes: number
  /** All that was put on the wire by this call, with what had to be sent again. */
  sentBytes: number
  partsDone: number
  partsTotal: number
}

/** Adds up what the parts tell. */
export function openProgress(totalBytes: number, tell: (progress: UploadProgress) => void) {
  const state: UploadProgress = {
    phase: 'hashing',
    bytes: 0,
    totalBytes,
    sentBytes: 0,
    partsDone: 0,
    partsTotal: 0,
  }
  let arrivedBytes = 0
  const onTheirWay = new Map<number, number>()
  const changed = () => tell({ ...state })

  function recount(): void {
    state.bytes = arrivedBytes
    for (const bytes of onTheirWay.values()) state.bytes += bytes
    changed()
  }

  return {
    hashed(bytes: number) {
      state.bytes += bytes
      changed()
    },
    /** What the service has already. */
    begin(arrived: { bytes: number; parts: number }, partsTotal: number) {
      Object.assign(state, { phase: 'uploading', partsDone: arrived.parts, partsTotal })
      arrivedBytes = arrived.bytes
      onTheirWay.clear()
      recount()
    },
    sent(part: number, bytes: number) {
      state.sentBytes += bytes
      onTheirWay.set(part, (onTheirWay.get(part) ?? 0) + bytes)
      recount()
    },
    lost(part: number) {
      onTheirWay.delete(part)
      recount()
    },
    arrived(part: number, bytes: number) {
      onTheirWay.delete(part)
      arrivedBytes += bytes
      state.partsDone++
      recount()
    },
    completing() {
      state.phase = 'completing'
      changed()
    },
  }
}

export type Progress = ReturnType<typeof openProgress>
