const RATES =
  /^(fps|hz|rate|frequency|frame_?rate|sample_?rate|sampling_?rate|control_?freq(uency)?|record(ing)?_?(rate|freq(uency)?))$/i
const PERIODS = /^(dt|time_?step|period)$/i
/** What robosuite does where nobody tells it otherwise. Told to nobody as the rate of the file. */
export const NOMINAL_RATE_HZ = 20
const MAX_RATE_HZ = 100_000

/** The rate that attributes state: in Hz, as a period in seconds, or inside of the JSON that simulators leave. */
export function rateIn(attributes: Map<string, string | number>): number | undefined {
  for (const [name, value] of attributes) {
    const rate = typeof value === 'number' ? named(name, value) : inJson(value)
    if (rate !== undefined && rate > 0 && rate <= MAX_RATE_HZ) return rate
  }
  return undefined
}

function named(name: string, value: number): number | undefined {
  if (RATES.test(name)) return value
  return PERIODS.test(name) && value > 0 ? 1 / value : undefined
}

function inJson(text: string): number | undefined {
  if (!text.startsWith('{')) return undefined
  try {
    const outer: unknown = JSON.parse(text)
    return controlRate(outer) ?? controlRate(field(outer, 'env_kwargs'))
  } catch {
    return undefined
  }
}

function controlRate(value: unknown): number | undefined {
  const rate = field(value, 'control_freq')
  return typeof rate === 'number' ? rate : undefined
}

function field(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null
    ? Object.entries(value).find(([key]) => key === name)?.[1]
    : undefined
}
