import Type from 'typebox'
import { MAX_NAME_CHARACTERS, MAX_NOTES_CHARACTERS } from './limits.ts'

// Patterns, not `maxLength`: they count code points, and refuse control characters in the same breath.
const CONTROL = '\\u0000-\\u001f\\u007f-\\u009f'
const CONTROL_BUT_LINES = '\\u0000-\\u0008\\u000b\\u000c\\u000e-\\u001f\\u007f-\\u009f'

export const nameExpectation = `must be 1 to ${MAX_NAME_CHARACTERS} characters without control characters`

/** A name given by the user: site, device, file name. */
export const Name = (description: string, example: string) =>
  Type.String({
    description: `${description} 1 to ${MAX_NAME_CHARACTERS} characters, no control characters.`,
    pattern: `^[^${CONTROL}]{1,${MAX_NAME_CHARACTERS}}$`,
    expectation: nameExpectation,
    examples: [example],
  })

/** Free text: line ends and tabs are welcome, other control characters are not. */
export const Notes = (description: string) =>
  Type.String({
    description: `${description} Up to ${MAX_NOTES_CHARACTERS} characters.`,
    pattern: `^[^${CONTROL_BUT_LINES}]{0,${MAX_NOTES_CHARACTERS}}$`,
    expectation: `must be at most ${MAX_NOTES_CHARACTERS} characters, with no control characters but tabs and line ends`,
    examples: ['second run after the wheel change'],
  })

export const Sha256Hex = (description: string) =>
  Type.String({
    description,
    pattern: '^[0-9a-fA-F]{64}$',
    expectation: 'must be 64 hexadecimal digits',
    examples: ['9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08'],
  })

export const Timestamp = (description: string) =>
  Type.String({
    description: `${description} ISO 8601, UTC.`,
    format: 'date-time',
    examples: ['2026-03-14T09:26:53.589Z'],
  })

export const Nullable = <T extends Type.TSchema>(schema: T) => Type.Union([schema, Type.Null()])
