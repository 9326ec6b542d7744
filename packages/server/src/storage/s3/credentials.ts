import type { Credentials } from './sign.ts'

/** The keys that were configured, or whatever the machine has: a role of the instance, of the container, of the pod. */
export async function openCredentials(given: Credentials | undefined): Promise<() => Promise<Credentials>> {
  if (given) return async () => given
  // Loaded only where it is needed; it renews what runs out.
  const { defaultProvider } = await import('@aws-sdk/credential-provider-node')
  return defaultProvider()
}
