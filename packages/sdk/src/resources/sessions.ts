import { platform } from '#platform'
import { List, type Page } from '../list.ts'
import type {
  Channel,
  CompleteSession,
  CreatedSession,
  CreateSession,
  DeletedSession,
  ListSessions,
  Session,
  Timeline,
} from '../objects.ts'
import type { RequestOptions, Transport } from '../transport.ts'
import type { UploadSource } from '../upload/source.ts'
import { type UploadOptions, upload } from '../upload/upload.ts'
import { type WaitOptions, waitUntilDone } from '../wait.ts'
import { pathOf } from './path.ts'

/** One recording is one session. */
export class Sessions {
  readonly #transport: Transport

  constructor(transport: Transport) {
    this.#transport = transport
  }

  /** Plans the parts of one file. `upload` does this and all the rest. */
  create(input: CreateSession, options?: RequestOptions): Promise<CreatedSession> {
    return this.#transport.send({ method: 'POST', path: '/v1/sessions', body: input }, options)
  }

  /** While it is uploading: with the parts still missing and those received, with fresh URLs. */
  retrieve(id: string, options?: RequestOptions): Promise<Session> {
    return this.#transport.send({ method: 'GET', path: pathOf('/v1/sessions', id) }, options)
  }

  /** Newest first. */
  list(filters: ListSessions = {}, options?: RequestOptions): List<Session> {
    return new List((cursor = filters.cursor) =>
      this.#transport.send<Page<Session>>(
        { method: 'GET', path: '/v1/sessions', query: { ...filters, cursor } },
        options,
      ),
    )
  }

  /** Verifies the whole file and starts processing. */
  complete(id: string, input: CompleteSession, options?: RequestOptions): Promise<Session> {
    const path = `${pathOf('/v1/sessions', id)}/complete`
    return this.#transport.send({ method: 'POST', path, body: input }, options)
  }

  /** Deletes the recording and everything derived from it, for good. */
  delete(id: string, options?: RequestOptions): Promise<DeletedSession> {
    const done: DeletedSession = { id, object: 'session', deleted: true }
    return this.#transport.delete(pathOf('/v1/sessions', id), done, options)
  }

  /** What was recorded, with rates, gaps, clock models and issues. */
  channels(id: string, options?: RequestOptions): Promise<Page<Channel>> {
    return this.#transport.send({ method: 'GET', path: `${pathOf('/v1/sessions', id)}/channels` }, options)
  }

  /** How many messages each channel has in each of up to 10,000 equal bins. */
  timeline(id: string, options?: RequestOptions): Promise<Timeline> {
    return this.#transport.send({ method: 'GET', path: `${pathOf('/v1/sessions', id)}/timeline` }, options)
  }

  /** Runs the current version of the processor over the recording. */
  reprocess(id: string, options?: RequestOptions): Promise<Session> {
    return this.#transport.send({ method: 'POST', path: `${pathOf('/v1/sessions', id)}/reprocess` }, options)
  }

  /** Hashes, creates, sends every part until it has arrived, completes. Answers with the completed session. */
  upload(source: UploadSource, options: UploadOptions): Promise<Session> {
    return upload({ transport: this.#transport, sessions: this, platform }, source, options)
  }

  /** Follows a session until it is processed or failed. */
  wait(id: string, options: WaitOptions = {}): Promise<Session> {
    const { signal } = options
    return waitUntilDone(() => this.retrieve(id, signal ? { signal } : {}), options)
  }
}
