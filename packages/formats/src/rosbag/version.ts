export type Version = {
  /** `plain`: version 1.2, without chunks. `other`: a bag that is not read. */
  kind: 'chunked' | 'plain' | 'other' | 'none'
  name: string
  /** Where the records begin. */
  end: number
}

const LINE = /^#ROS(?:BAG|RECORD|LOG) V(\d+\.\d+)\r?\n/
/** The longest first line of a bag. */
export const LINE_BYTES = '#ROSRECORD V1.2\r\n'.length

export function readVersion(head: Uint8Array): Version {
  const found = LINE.exec(Buffer.from(head.subarray(0, LINE_BYTES)).toString('latin1'))
  if (!found) return { kind: 'none', name: '', end: 0 }
  const [line, name = ''] = found
  return { kind: kindOf(name), name, end: line.length }
}

function kindOf(name: string): Version['kind'] {
  if (name === '2.0') return 'chunked'
  return name === '1.2' ? 'plain' : 'other'
}
