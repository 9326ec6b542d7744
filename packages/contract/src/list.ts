import Type from 'typebox'
import { DEFAULT_PAGE_SIZE, MAX_CURSOR_CHARACTERS, MAX_PAGE_SIZE } from './limits.ts'
import { Nullable } from './names.ts'

export const ListOf = <T extends Type.TSchema>(item: T, title: string) =>
  Type.Object(
    {
      object: Type.Literal('list'),
      data: Type.Array(item, { description: 'One page, newest first.' }),
      has_more: Type.Boolean({ description: 'Another page exists.' }),
      next_cursor: Nullable(
        Type.String({ description: 'Pass as `cursor` to get the next page; null on the last one.' }),
      ),
    },
    { title },
  )

/** The query parameters of every list. */
export const pageParameters = {
  limit: Type.Optional(
    Type.Integer({
      description: 'Page size.',
      minimum: 1,
      maximum: MAX_PAGE_SIZE,
      default: DEFAULT_PAGE_SIZE,
      expectation: `must be an integer from 1 to ${MAX_PAGE_SIZE}`,
    }),
  ),
  cursor: Type.Optional(
    Type.String({
      description: '`next_cursor` of the previous page, with the same filters.',
      pattern: `^[A-Za-z0-9_-]{1,${MAX_CURSOR_CHARACTERS}}$`,
      expectation: 'must be the next_cursor of a page with the same filters',
    }),
  ),
}

export const TimeFilter = (description: string) =>
  Type.Optional(
    Type.String({
      description: `${description} ISO 8601 with \`Z\` or an offset.`,
      format: 'date-time',
      expectation: 'must be an ISO 8601 time with Z or an offset, such as 2026-03-14T09:26:53Z',
      examples: ['2026-03-01T00:00:00Z'],
    }),
  )
