import type { Static, TSchema } from 'typebox'
import { Compile } from 'typebox/schema'
import { ApiError, invalid } from '../errors.ts'

// From what came over the wire to a typed value, or to the error that names the parameter at fault.

/** A parser for the body of an operation. */
export function bodyParser<S extends TSchema>(schema: S): (body: unknown) => Static<S> {
  const validator = Compile(schema)
  return (body) => {
    const value = body === undefined ? {} : body
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      throw new ApiError('body_invalid', `the body must be one JSON object, not ${describe(value)}`)
    }
    if (!validator.Check(value)) throw explain(schema, value, validator.Errors(value)[1])
    return value as Static<S>
  }
}

/** A parser for the query of an operation: integers arrive as text. */
export function queryParser<S extends TSchema>(schema: S): (query: Map<string, string>) => Static<S> {
  const validator = Compile(schema)
  return (query) => {
    const value: Record<string, unknown> = Object.create(null)
    for (const [name, text] of query) {
      const isInteger = typeAt(schema, `#/properties/${name}`) === 'integer' && /^-?\d{1,15}$/.test(text)
      value[name] = isInteger ? Number(text) : text
    }
    const plain = { ...value }
    if (!validator.Check(plain)) throw explain(schema, plain, validator.Errors(plain)[1])
    return plain as Static<S>
  }
}

type Finding = { keyword: string; schemaPath: string; instancePath: string; params: object; message?: string }

function explain(schema: TSchema, value: object, findings: Finding[]): ApiError {
  const unknown = findings.find((finding) => finding.keyword === 'additionalProperties')
  if (unknown) {
    const param = join(unknown.instancePath, firstOf(unknown.params, 'additionalProperties'))
    return new ApiError('parameter_unknown', `${param} is not a parameter of this operation`, { param })
  }
  const missing = findings.find((finding) => finding.keyword === 'required')
  if (missing) {
    const param = join(missing.instancePath, firstOf(missing.params, 'requiredProperties'))
    return invalid(param, `${param} is required`)
  }
  const [finding] = findings
  if (!finding) return new ApiError('body_invalid', 'the request does not fit its schema')
  const param = toPath(finding.instancePath)
  const expectation = expectationAt(schema, finding.schemaPath) ?? finding.message ?? 'is not valid'
  return invalid(param, `${param} ${expectation}; found ${describe(valueAt(value, finding.instancePath))}`)
}

const MAX_PARAM_CHARACTERS = 200

/** `/parts/2/etag` → `parts[2].etag` */
function toPath(pointer: string): string {
  const path = pointer
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
    .map((step, index) => (/^\d+$/.test(step) ? `[${step}]` : index === 0 ? step : `.${step}`))
    .join('')
  return path.slice(0, MAX_PARAM_CHARACTERS)
}

function join(pointer: string, name: string): string {
  const path = toPath(pointer)
  return `${path === '' ? '' : `${path}.`}${name}`.slice(0, MAX_PARAM_CHARACTERS)
}

function firstOf(params: object, name: string): string {
  const names: unknown = Reflect.get(params, name)
  return Array.isArray(names) ? String(names[0]) : ''
}

function nodeAt(schema: TSchema, path: string): unknown {
  return path
    .split('/')
    .slice(1)
    .reduce<unknown>(
      (node, step) => (typeof node === 'object' && node ? Reflect.get(node, step) : undefined),
      schema,
    )
}

function typeAt(schema: TSchema, path: string): unknown {
  const node = nodeAt(schema, path)
  return typeof node === 'object' && node ? Reflect.get(node, 'type') : undefined
}

/** The schema says in words what it expects; the nearest that does is taken. */
function expectationAt(schema: TSchema, path: string): string | undefined {
  for (let at = path; at.includes('/'); at = at.slice(0, at.lastIndexOf('/'))) {
    const node = nodeAt(schema, at)
    const words: unknown = typeof node === 'object' && node ? Reflect.get(node, 'expectation') : undefined
    if (typeof words === 'string') return words
  }
  return undefined
}

function valueAt(value: object, pointer: string): unknown {
  return pointer
    .split('/')
    .slice(1)
    .reduce<unknown>(
      (node, step) => (typeof node === 'object' && node ? Reflect.get(node, step) : undefined),
      value,
    )
}

function describe(value: unknown): string {
  if (value === undefined) return 'nothing'
  if (typeof value === 'string')
    return value.length > 40 ? `a text of ${value.length} characters` : JSON.stringify(value)
  if (typeof value === 'number' || typeof value === 'boolean' || value === null) return String(value)
  return Array.isArray(value) ? `an array of ${value.length}` : 'an object'
}
