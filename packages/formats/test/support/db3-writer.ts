import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'

// Writes ROS 2 bags as the recorder does, in every version of its tables.

export type Topic = { name: string; type: string; format?: string; qos?: string }
export type Definition = { type: string; encoding: string; text: string }
/** `topic` counts from 1, as the ids of the recorder do. */
export type Row = { topic: number; ns: bigint | string; data: Uint8Array }

export type Db3Options = {
  version?: 1 | 2 | 3 | 4
  topics: Topic[]
  rows: Row[]
  definitions?: Definition[]
  /** Writes ahead, and leaves the file as if it had been closed. */
  isWal?: boolean
  pageBytes?: number
  /** Further statements, run at the end. */
  more?: string
}

export function writeDb3(options: Db3Options): Uint8Array {
  const { version = 4, topics, rows, definitions = [], isWal = false, pageBytes = 4096, more = '' } = options
  return writeDatabase((db) => {
    db.exec(`pragma page_size = ${pageBytes}`)
    if (isWal) db.exec('pragma journal_mode = wal')
    db.exec(tables(version))
    for (const topic of topics) insertTopic(db, version, topic)
    for (const { type, encoding, text } of version < 4 ? [] : definitions) {
      db.prepare('insert into message_definitions values (null, ?, ?, ?, ?)').run(
        type,
        encoding,
        text,
        'RIHS01_0',
      )
    }
    const insert = db.prepare('insert into messages (timestamp, topic_id, data) values (?, ?, ?)')
    db.exec('begin')
    for (const { topic, ns, data } of rows) insert.run(ns, topic, data)
    db.exec('commit')
    db.exec(more)
  })
}

/** Any database, as the bytes of its file. */
export function writeDatabase(fill: (db: DatabaseSync) => void): Uint8Array {
  const folder = mkdtempSync(join(tmpdir(), 'tapedeck-db3-'))
  try {
    const path = join(folder, 'bag.db3')
    const db = new DatabaseSync(path)
    fill(db)
    db.close()
    return new Uint8Array(readFileSync(path))
  } finally {
    rmSync(folder, { recursive: true })
  }
}

function tables(version: number): string {
  const qos = version >= 2 ? ', offered_qos_profiles text not null' : ''
  const hash = version >= 4 ? ', type_description_hash text not null' : ''
  const topics = `create table topics(id integer primary key, name text not null, type text not null,
    serialization_format text not null${qos}${hash});`
  const messages = `create table messages(id integer primary key, topic_id integer not null,
    timestamp integer not null, data blob not null);
    create index timestamp_idx on messages (timestamp asc);`
  const meta = `create table schema(schema_version integer primary key, ros_distro text not null);
    create table metadata(id integer primary key, metadata_version integer not null, metadata text not null);
    insert into schema values (${version}, 'jazzy');
    insert into metadata values (null, 9, 'rosbag2_bagfile_information:');`
  const definitions = `create table message_definitions(id integer primary key, topic_type text not null,
    encoding text not null, encoded_message_definition text not null, type_description_hash text not null);`
  return [version >= 3 ? meta : '', topics, version >= 4 ? definitions : '', messages].join('\n')
}

function insertTopic(db: DatabaseSync, version: number, { name, type, format = 'cdr', qos = '' }: Topic) {
  const values = [name, type, format, ...(version >= 2 ? [qos] : []), ...(version >= 4 ? ['RIHS01_0'] : [])]
  db.prepare(`insert into topics values (null, ${values.map(() => '?').join(', ')})`).run(...values)
}
