import { wrongOption } from '../transport.ts'

/** The path of one object. An empty id would name the list. */
export function pathOf(list: string, id: string): string {
  if (typeof id !== 'string' || id === '' || id === '.' || id === '..')
    throw wrongOption('id', `the id of an object is needed; found ${JSON.stringify(id)}`)
  return `${list}/${encodeURIComponent(id)}`
}
