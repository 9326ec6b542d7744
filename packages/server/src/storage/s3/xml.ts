// What a store says in XML is flat enough to be read without a parser: elements with text, never attributes of interest.

/** The text of the first element of this name. */
export function textOf(xml: string, name: string): string | undefined {
  const text = new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)?.[1]
  return text === undefined ? undefined : withoutEntities(text)
}

/** The contents of every element of this name. */
export function elementsOf(xml: string, name: string): string[] {
  return [...xml.matchAll(new RegExp(`<${name}>(.*?)</${name}>`, 'gs'))].map(([, inner = '']) => inner)
}

export function withEntities(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

const entities: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }

function withoutEntities(text: string): string {
  return text.replaceAll(
    /&(?:#x([0-9a-f]+)|#(\d+)|(\w+));/gi,
    (whole, hex?: string, dec?: string, name = '') => {
      if (hex) return String.fromCodePoint(Number.parseInt(hex, 16))
      if (dec) return String.fromCodePoint(Number(dec))
      return entities[name] ?? whole
    },
  )
}
