// node scripts/sdk-objects.ts: writes packages/sdk/src/objects.ts, the contract's schemas as plain types. Users of the
// SDK get them with their descriptions and without the library that the schemas are written with.
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as contract from '@tapedeck/contract'
import { isTime } from '../packages/sdk/src/exact-json.ts'

type Schema = {
  type?: string
  title?: string
  description?: string
  format?: string
  pattern?: string
  const?: unknown
  enum?: unknown[]
  anyOf?: Schema[]
  items?: Schema
  properties?: Record<string, Schema>
  required?: string[]
}

const objects = plain({
  Issue: contract.Issue,
  CreatedSession: contract.CreatedSession,
  Session: contract.Session,
  DeletedSession: contract.DeletedSession,
  Channel: contract.Channel,
  Timeline: contract.Timeline,
  Segment: contract.Segment,
  Device: contract.Device,
  Site: contract.Site,
  Calibration: contract.Calibration,
  WebhookEndpoint: contract.WebhookEndpoint,
  WebhookEndpointWithSecret: contract.WebhookEndpointWithSecret,
  DeletedWebhookEndpoint: contract.DeletedWebhookEndpoint,
  WebhookDelivery: contract.WebhookDelivery,
  Redelivery: contract.Redelivery,
  Event: contract.Event,
})

const inputs = plain({
  CreateSession: contract.CreateSession,
  CompleteSession: contract.CompleteSession,
  ListSessions: contract.ListSessions,
  SearchSegments: contract.SearchSegments,
  ListByName: contract.ListByName,
  PutCalibration: contract.PutCalibration,
  CreateWebhookEndpoint: contract.CreateWebhookEndpoint,
  UpdateWebhookEndpoint: contract.UpdateWebhookEndpoint,
  ListWebhookEndpoints: contract.ListWebhookEndpoints,
  ListWebhookDeliveries: contract.ListWebhookDeliveries,
  RedeliverFailed: contract.RedeliverFailed,
  ListEvents: contract.ListEvents,
})

export const objectsPath = join(import.meta.dirname, '..', 'packages', 'sdk', 'src', 'objects.ts')

const named = new Map<string, string>()
for (const [name, { title }] of Object.entries(objects)) if (title) named.set(title, name)

function plain(schemas: object): Record<string, Schema> {
  return JSON.parse(JSON.stringify(schemas))
}

export function objectsSource(): string {
  const declare = ([name, schema]: [string, Schema]) => `export type ${name} = ${objectType(schema)}\n`
  const source = [
    '// Written by scripts/sdk-objects.ts from packages/contract; a test says when it is not up to date.\n',
    ...Object.entries(objects).map(declare),
    ...Object.entries(inputs).map(([name, schema]) => declare([name, asInput(schema)])),
  ].join('\n')
  return formatted(source)
}

function formatted(source: string): string {
  const args = ['node_modules/@biomejs/biome/bin/biome', 'format', `--stdin-file-path=${objectsPath}`]
  const { stdout, status, stderr } = spawnSync(process.execPath, args, { input: source, encoding: 'utf8' })
  if (status !== 0) throw new Error(`the formatter ended with ${status}: ${stderr}`)
  return stdout
}

/** As a caller likes to write it: `created[gte]` and `created[lt]` are one parameter with two fields. */
function asInput(schema: Schema): Schema {
  const properties: Record<string, Schema> = {}
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    const [, outer = name, inner] = /^(\w+)\[(\w+)\]$/.exec(name) ?? []
    if (inner === undefined) properties[name] = lenient(property)
    else {
      properties[outer] ??= { type: 'object', properties: {} }
      Object.assign(properties[outer].properties ?? {}, { [inner]: lenient(property) })
    }
  }
  return { ...schema, properties }
}

/** What goes into a query or a body as text may be given as what it is. */
function lenient(property: Schema): Schema {
  const isNumber = property.type === 'string' && property.pattern?.startsWith('^\\d')
  if (property.format !== 'date-time' && !isNumber) return property
  const { description = '' } = property
  return { description, anyOf: [property, isNumber ? { type: 'number' } : { type: 'Date' }] }
}

function objectType({ properties = {}, required = [] }: Schema, indent = ''): string {
  const fields = Object.entries(properties).map(([name, schema]) => {
    const words = schema.description ?? schema.anyOf?.[0]?.description
    const comment = words ? `${indent}  /** ${words} */\n` : ''
    const optional = required.includes(name) ? '' : '?'
    return `${comment}${indent}  ${name}${optional}: ${fieldType(name, schema, `${indent}  `)}\n`
  })
  return `{\n${fields.join('')}${indent}}`
}

function fieldType(name: string, schema: Schema, indent: string): string {
  const type = typeOf(schema, indent)
  return isTime(name) ? type.replace('number', 'bigint') : type
}

function typeOf(schema: Schema, indent: string): string {
  if (schema.anyOf) return schema.anyOf.map((option) => typeOf(option, indent)).join(' | ')
  if (schema.const !== undefined) return literal(schema.const)
  if (schema.enum) return schema.enum.map(literal).join(' | ')
  switch (schema.type) {
    case 'string':
    case 'boolean':
    case 'null':
    case 'Date':
      return schema.type
    case 'integer':
    case 'number':
      return 'number'
    case 'array': {
      const item = typeOf(schema.items ?? {}, indent)
      return /^[\w.]+$/.test(item) ? `${item}[]` : `(${item})[]`
    }
    case 'object':
      return (schema.title && named.get(schema.title)) ?? objectType(schema, indent)
    default:
      return 'unknown'
  }
}

function literal(value: unknown): string {
  return typeof value === 'string' ? `'${value}'` : String(value)
}

if (import.meta.main) writeFileSync(objectsPath, objectsSource())
