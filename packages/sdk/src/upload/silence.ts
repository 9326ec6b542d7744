/** Tells when nothing has moved for so long that the connection must be dead. */
export function watchSilence(ms: number, onSilence: () => void): { moved(): void; end(): void } {
  let timer = setTimeout(onSilence, ms)
  return {
    moved() {
      clearTimeout(timer)
      timer = setTimeout(onSilence, ms)
    },
    end: () => clearTimeout(timer),
  }
}
