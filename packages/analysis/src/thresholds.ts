const MS = 1e6
const S = 1e9

/** Every number that a check compares with, in one place. Times in nanoseconds. */
export const thresholds = {
  /** Recordings up to this size are read and verified as a whole; of larger ones index and samples. */
  wholeBytes: 64 * 2 ** 20,
  /** A channel needs so many messages before its rate is judged. */
  minMessagesForRate: 10,
  /** Rate below which a channel is not taken for periodic: events, parameters, maps. */
  minPeriodicHz: 0.5,
  /** Spread of periods (MAD over median) above which a channel is not taken for periodic. */
  maxPeriodicSpread: 0.5,
  /** A gap is this many periods long … */
  gapPeriods: 5,
  /** … and at least this long. */
  gapMinNs: 250 * MS,
  /** From here on it is an error. */
  gapErrorNs: 10 * S,
  /** Silence of everything at once. */
  stallMinNs: 1 * S,
  stallErrorNs: 30 * S,
  /** Share by which a rate may differ from the declared one. */
  rateDeviation: 0.1,
  rateDeviationError: 0.5,
  /** How late a channel may start, or how early end: this long, and this share of the recording. */
  edgeMinNs: 2 * S,
  edgeShare: 0.05,
  edgePeriods: 5,
  /** Share of messages out of order above which it is an error. */
  outOfOrderErrorShare: 0.05,
  duplicateShare: 0.001,
  /** Farther from its neighbours than this, a time is not believed. */
  outlierNs: 10 * 24 * 3600 * S,
  /** So many in a row at the new place are believed: the clock was set. */
  jumpConfirmations: 10,
  /** 2000-01-01: a Unix time before this is none. */
  earliestUnixNs: 946684800n * 1_000_000_000n,
  /** 2200-01-01: and behind this neither. */
  latestUnixNs: 7258118400n * 1_000_000_000n,
  /** When messages count as lost. */
  drops: {
    minSteps: 20,
    /** Share of steps that must be one period long, or one in the publisher's counter. */
    regularShare: 0.6,
    /** How far from the grid a stamp may lie, in periods. */
    tolerance: 0.2,
    /** Longer steps are pauses; the grid may have moved meanwhile. */
    maxPeriods: 100,
    minElapsedShare: 0.3,
    keptSteps: 64,
  },
  clock: {
    minPairs: 20,
    windows: 64,
    /** Drift is told only with so many pairs over so long a time, and if it is this much above the noise. */
    driftMinPairs: 500,
    driftMinSpanNs: 60 * S,
    driftSignificance: 3,
    driftWarnPpm: 20,
    jumpMinNs: 5 * MS,
    /** A stamp later than its recording by more than this is in the future. */
    futureNs: 1 * MS,
    /** Beyond this the stamp is of another kind of clock. */
    foreignNs: 365 * 24 * 3600 * S,
    gpsOffsetsS: [18, 37],
    gpsToleranceNs: 100 * MS,
  },
  imu: {
    gravity: 9.81,
    /** Between these the scale is right for a sensor that is mostly at rest. */
    plausible: [7.4, 13.2],
    minSamples: 20,
    /** So many samples at exactly the largest value, and this large, are no coincidence. */
    saturatedSamples: 5,
    saturationFloor: { linear_acceleration: 15, angular_velocity: 3 },
  },
  camera: {
    /** The same picture so often, and for so long. */
    frozenPictures: 10,
    frozenNs: 1 * S,
    /** Mean brightness, of 255, below which a picture is black; and share of black ones. */
    blackMean: 4,
    blackShare: 0.5,
    minPictures: 3,
  },
  segment: {
    defaultWindowNs: 30 * S,
    silenceNs: 5 * S,
    minNs: 1 * S,
    max: 20_000,
    /** Segments times channels. */
    maxCells: 2_000_000,
  },
  timelineBins: 10_000,
  /** Bins times channels. */
  timelineCells: 8_000_000,
} as const
