import type { FoundIssue } from './issue.ts'

/** Looks at decoded messages of one channel, then says what it found. */
export type ContentCheck = {
  see(t: number, message: unknown): void
  finish(): FoundIssue[]
}
