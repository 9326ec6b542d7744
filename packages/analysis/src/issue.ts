// What can be wrong with a recording. One entry for each code: docs/issues.md explains exactly these.

export type Severity = 'info' | 'warning' | 'error'

type Entry = { severity: Severity; meaning: string; remedy: string }

export const issueCodes = {
  format_mismatch: {
    severity: 'warning',
    meaning: 'The file name says one format, the bytes another. The bytes are believed.',
    remedy: 'Name the file after what it is, or check that the right file was uploaded.',
  },
  format_unsupported: {
    severity: 'error',
    meaning: 'No reader knows this file.',
    remedy:
      'See docs/formats.md for what is read; convert the recording, or check that the file is the one you meant.',
  },
  processing_crashed: {
    severity: 'error',
    meaning: 'Processing ended without a result at every try.',
    remedy: 'Report the session; the recording is kept as it was uploaded.',
  },
  processing_limit: {
    severity: 'error',
    meaning: 'Reading the recording took more time or memory than one recording may have.',
    remedy: 'Split the recording, or ask the operator to raise the limit.',
  },
  recording_lost: {
    severity: 'error',
    meaning: 'A part that was received is not in the storage any more.',
    remedy: 'Ask the operator to restore it, then process the session again; or upload the recording again.',
  },
  recording_empty: {
    severity: 'error',
    meaning: 'The file has no message in it.',
    remedy: 'Check that the recorder was subscribed to anything, and for how long it ran.',
  },
  recording_truncated: {
    severity: 'error',
    meaning: 'The file ends before its end: the recorder was killed, or the copy was cut short.',
    remedy:
      'Copy the file again from the robot if it is longer there; stop recorders by a signal, not by power.',
  },
  index_missing: {
    severity: 'warning',
    meaning: 'The file has no index, so it had to be read as a whole.',
    remedy: 'Reindex it (`rosbag reindex`, `mcap recover`) if other tools need the index.',
  },
  index_mismatch: {
    severity: 'warning',
    meaning: 'The index of the file says something else than its data. The data are believed.',
    remedy: 'Reindex the file before you trust tools that read the index alone.',
  },
  chunk_corrupt: {
    severity: 'error',
    meaning: 'A piece of the file fails its checksum or cannot be decompressed; its messages are lost.',
    remedy: 'Check the disk of the recorder; copy the file again if the original is good.',
  },
  schema_missing: {
    severity: 'warning',
    meaning: 'A channel has no definition of its messages.',
    remedy: 'Record with definitions embedded; otherwise the messages can only be counted.',
  },
  schema_conflict: {
    severity: 'warning',
    meaning: 'One name stands for two different definitions in one file.',
    remedy: 'Find the two publishers that were built against different message packages.',
  },
  messages_undecodable: {
    severity: 'error',
    meaning: 'Messages do not fit the definition of their channel.',
    remedy: 'Check that recorder and publisher were built against the same message package.',
  },
  channel_empty: {
    severity: 'warning',
    meaning: 'A channel was announced and never sent anything.',
    remedy: 'Check the sensor or node behind it.',
  },
  channel_missing: {
    severity: 'warning',
    meaning: 'A channel that this device usually sends is not in the recording.',
    remedy: 'Check the sensor, and whether the recorder was subscribed to it.',
  },
  out_of_order: {
    severity: 'warning',
    meaning: 'Messages are not in the order of their times.',
    remedy: 'Sort by time before use; look for several writers or a clock that was set.',
  },
  duplicate_timestamps: {
    severity: 'warning',
    meaning: 'Successive messages have the same time.',
    remedy: 'Check whether messages are published twice, or stamped with too coarse a clock.',
  },
  message_gap: {
    severity: 'warning',
    meaning: 'A channel was silent for much longer than its rate allows.',
    remedy: 'Look at the time given: a cable, a driver restart, or a full queue.',
  },
  messages_dropped: {
    severity: 'warning',
    meaning: 'Messages are missing, as stamps, sequence numbers or the recorder itself prove.',
    remedy: 'Give the recorder a larger queue or a faster disk.',
  },
  rate_deviation: {
    severity: 'warning',
    meaning: 'A channel runs at another rate than declared or usual.',
    remedy: 'Check the configuration of the sensor, and the load of the machine.',
  },
  late_start: {
    severity: 'warning',
    meaning: 'A channel begins long after the recording.',
    remedy: 'Start the recorder when all sensors are up, or cut the beginning off.',
  },
  early_end: {
    severity: 'warning',
    meaning: 'A channel ends long before the recording.',
    remedy: 'Look for a crash of the node behind it at the time given.',
  },
  recorder_stall: {
    severity: 'warning',
    meaning: 'All channels were silent at once: the recorder or the machine stood still.',
    remedy: 'Check disk and load of the recording machine at the time given.',
  },
  timestamp_invalid: {
    severity: 'warning',
    meaning: 'Times are zero, before the year 2000, or far away from all others; they were left out.',
    remedy: 'Set the clock before recording; find the publisher that leaves its stamp unset.',
  },
  clock_offset_estimated: {
    severity: 'info',
    meaning: 'How far the clock of the sensor is from that of the recorder, up to the least transport delay.',
    remedy: 'Subtract it when you fuse sensors, or store it as a calibration of the device.',
  },
  clock_drift: {
    severity: 'warning',
    meaning: 'The clock of the sensor runs faster or slower than that of the recorder.',
    remedy: 'Synchronise the clocks (PTP, NTP), or correct by the drift given.',
  },
  clock_jump: {
    severity: 'warning',
    meaning: 'A clock was set while recording: times jump.',
    remedy: 'Let the clock settle before recording; treat the parts before and after apart.',
  },
  clock_simulated: {
    severity: 'info',
    meaning: 'Times are of a simulation, or counted from boot, and say nothing about the date.',
    remedy: 'Nothing, if it is a simulation; otherwise set the clock before recording.',
  },
  stamp_frozen: {
    severity: 'warning',
    meaning: 'The stamp in the messages does not move while messages go on.',
    remedy: 'Check the driver: it sends the same measurement, or forgets to set the stamp.',
  },
  stamp_in_future: {
    severity: 'warning',
    meaning: 'Stamps are later than the time of recording.',
    remedy: 'Synchronise the clocks of sensor and recorder.',
  },
  transforms_disconnected: {
    severity: 'warning',
    meaning: 'The tree of frames falls into parts that nothing connects.',
    remedy: 'Record the static transforms, or publish the missing link.',
  },
  transforms_cycle: {
    severity: 'error',
    meaning: 'The frames form a circle, or a frame has two parents.',
    remedy: 'Find the two publishers of the frame named.',
  },
  calibration_missing: {
    severity: 'info',
    meaning: 'A camera has no intrinsics in the recording or in the store.',
    remedy: 'Record its camera info, or store a calibration for the device.',
  },
  calibration_applied: {
    severity: 'info',
    meaning: 'The stored calibration of the device was applied.',
    remedy: 'Nothing; the version is named.',
  },
  imu_saturated: {
    severity: 'warning',
    meaning: 'An inertial sensor stays at its largest value.',
    remedy: 'Choose a larger range; values in between are lost.',
  },
  imu_scale: {
    severity: 'warning',
    meaning: 'At rest the acceleration is not that of gravity: the unit or the scale is wrong.',
    remedy: 'Check whether the driver publishes g instead of m/s².',
  },
  values_not_finite: {
    severity: 'warning',
    meaning: 'Values are not numbers, or infinite.',
    remedy: 'Find the node that publishes them; leave such messages out of training.',
  },
  camera_frozen: {
    severity: 'warning',
    meaning: 'A camera repeats the same picture.',
    remedy: 'Check the camera and its driver at the time given.',
  },
  camera_black: {
    severity: 'warning',
    meaning: 'A camera shows nothing but black.',
    remedy: 'Check lens cap, exposure and light.',
  },
  video_frame_mismatch: {
    severity: 'warning',
    meaning: 'The number of frames does not fit the length and rate of the video, or the rows beside it.',
    remedy: 'Check for dropped frames while encoding.',
  },
  log_errors: {
    severity: 'warning',
    meaning: 'The log in the recording has errors.',
    remedy: 'Read them; they often explain the other issues.',
  },
} as const satisfies Record<string, Entry>

export type IssueCode = keyof typeof issueCodes

/** One issue for each channel and code. Times are nanoseconds from the origin of the scan. */
export type FoundIssue = {
  code: IssueCode
  severity: Severity
  /** Number of the channel, as the collection counts them; none for the recording as a whole. */
  channel?: number | undefined
  /** Of a channel that is not in the recording. */
  missing?: string | undefined
  detail: string
  t?: number | undefined
  count?: number | undefined
  value?: number | undefined
  threshold?: number | undefined
}

type Details = Omit<FoundIssue, 'code' | 'severity'> & { severity?: Severity }

export function issue(code: IssueCode, { severity, ...details }: Details): FoundIssue {
  return { code, severity: severity ?? issueCodes[code].severity, ...details }
}
