// Loaded before everything else of a process, so that its machine seems to have a wrong clock.

const aheadMs = Number(process.env.TEST_CLOCK_AHEAD_MS)
const RightDate = Date

class WrongDate extends RightDate {
  constructor(...given: unknown[]) {
    super(...((given.length === 0 ? [WrongDate.now()] : given) as [number]))
  }
  static override now(): number {
    return RightDate.now() + aheadMs
  }
}

globalThis.Date = WrongDate as DateConstructor
