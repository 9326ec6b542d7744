import type { Mark, RowLook } from './draw.ts'

export type Note = Mark & { title: string; detail: string }
export type Lane = RowLook & { label: string; notes: Note[] }
