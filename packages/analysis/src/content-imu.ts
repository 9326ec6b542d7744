import type { ContentCheck } from './content-check.ts'
import { type FoundIssue, issue } from './issue.ts'
import { median } from './robust.ts'
import { thresholds } from './thresholds.ts'
import { vectorAt } from './values.ts'

const { imu } = thresholds

/** Scale and saturation of an inertial sensor. */
export function openImuCheck(): ContentCheck {
  const norms: number[] = []
  const extremes = { linear_acceleration: openExtreme(), angular_velocity: openExtreme() }
  return {
    see(t, message) {
      const acceleration = vectorAt(message, 'linear_acceleration')
      if (acceleration) norms.push(Math.hypot(...acceleration))
      for (const name of ['linear_acceleration', 'angular_velocity'] as const) {
        for (const value of vectorAt(message, name) ?? []) extremes[name].add(t, Math.abs(value))
      }
    },
    finish() {
      return [
        ...checkScale(norms),
        ...(['linear_acceleration', 'angular_velocity'] as const)
          .flatMap((name) => extremes[name].issue(name, imu.saturationFloor[name]))
          .slice(0, 1),
      ]
    },
  }
}

function checkScale(norms: number[]): FoundIssue[] {
  const middle = median(norms)
  if (norms.length < imu.minSamples || !Number.isFinite(middle) || middle === 0) return []
  if (middle >= imu.plausible[0] && middle <= imu.plausible[1]) return []
  return [
    issue('imu_scale', {
      detail: `the acceleration is ${middle.toFixed(3)} by the median of ${norms.length} messages, about ${imu.gravity} m/s² was expected`,
      value: middle,
      threshold: imu.gravity,
    }),
  ]
}

function openExtreme() {
  let [largest, count, first]: [number, number, number | undefined] = [0, 0, undefined]
  return {
    add(t: number, value: number) {
      if (!Number.isFinite(value) || value < largest) return
      if (value > largest) [largest, count, first] = [value, 0, t]
      count++
    },
    issue(name: string, floor: number): FoundIssue[] {
      if (largest < floor || count < imu.saturatedSamples) return []
      return [
        issue('imu_saturated', {
          detail: `${name} is at exactly ${largest.toFixed(3)}, its largest value, ${count} times`,
          t: first,
          count,
          value: largest,
        }),
      ]
    },
  }
}
