/** A page that is not what it says it is. Thrown by what decodes, answered where pages are read. */
export class PageDamage extends Error {
  override name = 'PageDamage'
}
