import type { CreatedKey } from './access/keys.ts'
import type { Addresses } from './app/base.ts'

/** What a person sees when a node without the API is up. */
export function welcomeWorker({ baseUrl }: Addresses): string {
  return `\nTapedeck is ready.\n  Health   ${baseUrl}/readyz\n\n`
}

/** What a person sees when the service is up; the key only on the first start. */
export function welcome(
  { baseUrl, consoleUrl }: Addresses,
  firstKey: CreatedKey | undefined,
  firstLink: string | undefined,
): string {
  const lines = [
    '',
    'Tapedeck is ready.',
    `  API      ${baseUrl}/v1`,
    `  Console  ${consoleUrl}`,
    `  Docs     ${baseUrl}/docs`,
  ]
  if (firstLink) lines.push('', 'Make the first account; this link works once:', `  ${firstLink}`)
  if (firstKey) {
    lines.push(
      '',
      `A key of the organisation "${firstKey.organisation}" (${firstKey.permissions.join(',')}), shown only this once:`,
      `  ${firstKey.key}`,
      '',
      'Try it:',
      `  curl -H "Authorization: Bearer ${firstKey.key}" ${baseUrl}/v1/sessions`,
    )
  } else {
    lines.push('', 'Make a key in the console, or:  npx tapedeck keys create --org default')
  }
  return `${lines.join('\n')}\n\n`
}
