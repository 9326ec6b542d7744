import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { AnalysedIssue } from '../src/analysis.ts'
import { analyseBytes } from './support/analyse-bytes.ts'
import { type Defect, defectsOf, type Expected, stall } from './support/defects.ts'
import { imu, nameOf, record, sensors, toMcap } from './support/robot.ts'

// Recordings with known defects: each is found, with its value, and nothing is reported that is not there.

type Found = AnalysedIssue
type ChannelDefect = { channel: string; expected: Expected }

/** Told of every channel with stamps, and no defect. */
const always = 'clock_offset_estimated'

async function issuesOf(recordings: Parameters<typeof toMcap>[0]): Promise<Found[]> {
  return (await analyseBytes(await toMcap(recordings), 'robot.mcap')).issues
}

function compare(issues: Found[], wanted: ChannelDefect[]): void {
  const told = issues.filter(({ code }) => code !== always).map(({ code, channel }) => `${code} ${channel}`)
  const meant = wanted
    .filter(({ expected }) => expected.code !== always)
    .map(({ expected, channel }) => `${expected.code} ${channel}`)
  assert.deepEqual(told.sort(), meant.sort(), JSON.stringify(issues.map(({ detail }) => detail)))
  for (const { channel, expected } of wanted) {
    const issue = issues.find((one) => one.code === expected.code && one.channel === channel)
    assert.ok(issue, `${expected.code} of ${channel} is missing`)
    assertNear(issue.value, expected.value, issue)
    assertNear(issue.count, expected.count, issue)
  }
}

function assertNear(found: number | undefined, wanted: [number, number] | undefined, issue: Found): void {
  if (!wanted) return
  const [value, within] = wanted
  assert.ok(
    Math.abs((found ?? Number.NaN) - value) <= within,
    `${issue.code} says ${found}, meant is ${value}`,
  )
}

test('a sound recording has no defect', async () => {
  compare(await issuesOf(sensors.map((sensor, n) => record(sensor, n + 1))), [])
})

test('every defect of every sensor is found with its value, and nothing else', async () => {
  const all = fc.tuple(fc.integer(), ...sensors.map(defectsOf))
  await fc.assert(
    fc.asyncProperty(all, async ([seed, ...defects]) => {
      const wanted = defects.flatMap(({ expected }, n) =>
        expected.map((one) => ({ channel: nameOf.get(sensors[n] ?? imu) ?? '', expected: one })),
      )
      // A recording lasts from the first message of all to the last: one sensor at least is there all the time.
      fc.pre(defects.some(({ expected }) => !expected.some(({ code }) => /late_start|early_end/.test(code))))
      const recordings = sensors.map((sensor, n) => apply(defects[n], record(sensor, seed + n)))
      compare(await issuesOf(recordings), wanted)
    }),
    { numRuns: 60, seed: 4 },
  )
})

function apply(defect: Defect | undefined, messages: ReturnType<typeof record>) {
  return defect ? defect.apply(messages) : messages
}

test('a stall of the recorder is one issue of the recording, and no gap of each sensor', async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer(), stall, async (seed, { apply, expected, lengthNs }) => {
      const issues = await issuesOf(sensors.map((sensor, n) => apply(record(sensor, seed + n))))
      const dropped = issues.filter(({ code }) => code === 'messages_dropped')
      // Whoever was silent for less than a hundred periods has a hole in its grid, and that is true as well.
      for (const { channel, count = 0 } of dropped) {
        const sensor = sensors.find((one) => nameOf.get(one) === channel) ?? imu
        assert.ok(Math.abs(count - lengthNs / sensor.periodNs) <= 1.1)
      }
      compare(
        issues.filter(({ code }) => code !== 'messages_dropped'),
        expected.map((one) => ({ channel: '', expected: one })),
      )
    }),
    { numRuns: 12, seed: 5 },
  )
})

test('what is expected of the device is compared with what is there', async () => {
  const bytes = await toMcap(sensors.map((sensor, n) => record(sensor, n + 1)))
  const { issues } = await analyseBytes(bytes, 'robot.mcap', {
    expected: [
      { topic: '/imu/data', rateHz: 100 },
      { topic: '/lidar/points', rateHz: 20 },
      { topic: '/radar', name: 'radar/front' },
    ],
    calibrationVersion: 3,
  })
  compare(issues, [
    { channel: 'lidar', expected: { code: 'rate_deviation', value: [10, 0.5] } },
    { channel: 'radar/front', expected: { code: 'channel_missing' } },
    { channel: '', expected: { code: 'calibration_applied' } },
  ])
})

test('a clock offset that is known is taken away before the rest is estimated', async () => {
  const ahead = record(imu, 1).map((message) => ({ ...message, stamp: message.stamp + 5e8 }))
  const bytes = await toMcap([ahead])
  const { issues } = await analyseBytes(bytes, 'robot.mcap', {
    expected: [{ topic: imu.topic, clockOffsetNs: 5e8 }],
  })
  const rest = { code: 'clock_offset_estimated', value: [-imu.latencyNs, 1e5] } satisfies Expected
  const empty = { code: 'channel_empty' } satisfies Expected
  compare(issues, [
    { channel: 'imu', expected: rest },
    { channel: 'lidar', expected: empty },
    { channel: 'odometry', expected: empty },
  ])
})

test('a simulated clock is told, and its times are no dates', async () => {
  const simulated = sensors.map((sensor, n) =>
    record(sensor, n + 1).map((message) => ({ ...message, stamp: message.stamp - 1.7e18 })),
  )
  const issues = await issuesOf(simulated)
  assert.deepEqual(
    issues.map(({ code, channel }) => `${code} ${channel}`),
    ['clock_simulated imu', 'clock_simulated lidar', 'clock_simulated odometry'],
  )
})
