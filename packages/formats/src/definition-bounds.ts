// A definition comes with the file, and reading by it can take for ever: one that holds itself, one whose fields double
// at every level, a list of things without a size. Such are not read by.

export type Definition = {
  name?: string | undefined
  definitions: {
    type: string
    isComplex?: boolean | undefined
    isConstant?: boolean | undefined
    isArray?: boolean | undefined
    arrayLength?: number | undefined
  }[]
}

/** Fields of one message, on all levels, items of fixed lists counted. */
const MAX_STEPS = 100_000
const MAX_DEPTH = 64

/** What reading one takes, and whether that may happen without a byte being read. */
type Cost = { steps: number; empty: boolean }
const PLAIN: Cost = { steps: 1, empty: false }

/** The first definition is that of the message, the others are what it is made of. */
export function isBounded(definitions: Definition[]): boolean {
  const [root] = definitions
  if (!root) return false
  const byName = new Map(definitions.map((definition) => [definition.name ?? '', definition]))
  const known = new Map<Definition, Cost>()

  /** Undefined where there is no end. */
  function costOf(definition: Definition | undefined, depth: number): Cost | undefined {
    if (!definition || depth > MAX_DEPTH) return undefined
    const counted = known.get(definition)
    if (counted) return counted
    const cost = { steps: 1, empty: true }
    for (const field of definition.definitions) {
      if (field.isConstant) continue
      const one = field.isComplex ? costOf(byName.get(field.type), depth + 1) : PLAIN
      // A list may be as long as it says where its items take no bytes; otherwise the message ends first.
      if (!one || (one.empty && field.isArray)) return undefined
      cost.steps += field.isComplex ? one.steps * Math.max(1, field.arrayLength ?? 1) : 1
      cost.empty &&= one.empty
      if (cost.steps > MAX_STEPS) return undefined
    }
    known.set(definition, cost)
    return cost
  }

  return costOf(root, 0) !== undefined
}
