// What the rest of the reader sees of a bag, whether SQLite answers or its pages are read one by one.

export type TopicRow = {
  id: number
  name: Uint8Array
  type: Uint8Array
  encoding: Uint8Array
  qos: Uint8Array
}

export type DefinitionRow = { type: Uint8Array; encoding: Uint8Array; data: Uint8Array }

/** A message without its content. */
export type MessageRow = {
  id: number
  topic: number | undefined
  /** The time in two halves, because it does not fit into one number; undefined where it is no integer. */
  high: number | undefined
  low: number
  bytes: number
  /** Where its content is found again. */
  at: number
}

export type Bag = {
  /** Whether its pages are read one by one, and nothing but the ids of messages shows that some are missing. */
  isByPages: boolean
  /** Of the database, unpacked. */
  sizeBytes: number
  /** The last id, to tell how far one is; a guess where it cannot be had. */
  lastId: number
  topics(): AsyncIterable<TopicRow> | Iterable<TopicRow>
  definitions(): AsyncIterable<DefinitionRow> | Iterable<DefinitionRow>
  /** Whether every type should have a definition: only from version 4 of the format on. */
  isDefining: boolean
  /** In the order of the file, some hundreds at a time. */
  messages(): AsyncIterable<MessageRow[]> | Iterable<MessageRow[]>
  /** Undefined where it cannot be read. */
  contentOf(row: MessageRow): Promise<Uint8Array | undefined>
  close(): Promise<void>
}

/** Longer texts are not names of anything. */
export const MAX_TEXT_BYTES = 1 << 16
