// Where output goes, and what it may look like there.

export type Terminal = {
  print(text: string): void
  /** Progress and warnings, beside the output. */
  note(text: string): void
  /** Whether the output is read by a person, and how wide that person's terminal is. */
  width: number | undefined
  /** Whether notes are, so that lines may be written over. */
  noteWidth: number | undefined
  paint(colour: Colour, text: string): string
}

const colours = { red: 31, green: 32, yellow: 33, dim: 2, bold: 1 } as const
export type Colour = keyof typeof colours

export function openTerminal(env: NodeJS.ProcessEnv): Terminal {
  const { stdout, stderr } = process
  const isColourful = stdout.isTTY && env.NO_COLOR === undefined && env.TERM !== 'dumb'
  return {
    print: (text) => void stdout.write(text),
    note: (text) => void stderr.write(text),
    get width() {
      return stdout.isTTY ? stdout.columns : undefined
    },
    get noteWidth() {
      return stderr.isTTY && env.TERM !== 'dumb' ? stderr.columns : undefined
    },
    paint: (colour, text) => (isColourful ? `\x1b[${colours[colour]}m${text}\x1b[0m` : text),
  }
}
