export type Page<Item> = { object: 'list'; data: Item[]; has_more: boolean; next_cursor: string | null }

/**
 * A list: `await` it for one page, or go over it with `for await` for every item of every page. Nothing is asked for
 * before that.
 */
export class List<Item> implements AsyncIterable<Item>, PromiseLike<Page<Item>> {
  readonly #fetchPage: (cursor: string | undefined) => Promise<Page<Item>>

  constructor(fetchPage: (cursor: string | undefined) => Promise<Page<Item>>) {
    this.#fetchPage = fetchPage
  }

  // biome-ignore lint/suspicious/noThenProperty: a list is awaited for its first page, as lists of Stripe are.
  then<Done = Page<Item>, Failed = never>(
    onDone?: ((page: Page<Item>) => Done | PromiseLike<Done>) | null,
    onFailed?: ((reason: unknown) => Failed | PromiseLike<Failed>) | null,
  ): PromiseLike<Done | Failed> {
    return this.#fetchPage(undefined).then(onDone, onFailed)
  }

  async *pages(): AsyncGenerator<Page<Item>, void, undefined> {
    let cursor: string | undefined
    do {
      const page = await this.#fetchPage(cursor)
      yield page
      cursor = page.next_cursor ?? undefined
    } while (cursor !== undefined)
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Item, void, undefined> {
    for await (const page of this.pages()) yield* page.data
  }

  /** All items up to a number; the rest is not asked for. */
  async toArray({ limit }: { limit: number }): Promise<Item[]> {
    const items: Item[] = []
    for await (const item of this) {
      if (items.length >= limit) break
      items.push(item)
    }
    return items
  }
}
