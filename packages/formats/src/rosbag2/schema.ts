import type { DatabaseSync } from 'node:sqlite'

/** What a database is, by its tables. */
export type Schema =
  | { kind: 'bag'; hasQos: boolean; hasDefinitions: boolean }
  /** Has one of the names or columns of a bag, but not all: a letter of them may be damaged. */
  | { kind: 'almost' }
  | { kind: 'other'; tables: string[] }
  /** Brings something of its own to be run while it is read. */
  | { kind: 'active' }

const MAX_OBJECTS = 1000
const MESSAGE_COLUMNS = ['topic_id', 'timestamp', 'data']
const TOPIC_COLUMNS = ['id', 'name', 'type', 'serialization_format']
const DEFINITION_COLUMNS = ['id', 'topic_type', 'encoding', 'encoded_message_definition']

/** Constraints, computed columns and indexes of expressions would be run by a check of the pages; no bag has them. */
const ACTIVE_TABLE = /\b(check|generated|virtual)\b|\bas\s*\(/i
const PLAIN_INDEX = /^create\s+(unique\s+)?index\s+[^()]*\([\w\s,"`]*\)\s*$/i

export function readSchema(db: DatabaseSync): Schema {
  const objects = db
    .prepare(`select type, name, sql from sqlite_schema limit ${MAX_OBJECTS}`)
    .all()
    .map(({ type, name, sql }) => ({ type: String(type), name: String(name), sql: String(sql ?? '') }))
  if (objects.length >= MAX_OBJECTS || objects.some(isActive)) return { kind: 'active' }
  const tables = objects.filter(({ type }) => type === 'table').map(({ name }) => name)
  const columnsOf = (table: string) => {
    const columns = db.prepare('select name from pragma_table_info(?)').all(table)
    return new Set(columns.map(({ name }) => String(name)))
  }
  const has = (table: string, wanted: string[]) => new Set(wanted).isSubsetOf(columnsOf(table))
  if (has('messages', MESSAGE_COLUMNS) && has('topics', TOPIC_COLUMNS)) {
    const hasDefinitions = has('message_definitions', DEFINITION_COLUMNS)
    return { kind: 'bag', hasQos: has('topics', ['offered_qos_profiles']), hasDefinitions }
  }
  return tables.includes('messages') || tables.includes('topics')
    ? { kind: 'almost' }
    : { kind: 'other', tables }
}

function isActive({ type, sql }: { type: string; sql: string }): boolean {
  if (type === 'table') return ACTIVE_TABLE.test(sql)
  // An index without a text is one that SQLite made by itself.
  return type !== 'index' || (sql !== '' && !PLAIN_INDEX.test(sql))
}
