import { MutationCache, QueryCache, QueryClient } from '@tanstack/react-query'
import { Refusal } from './request.ts'

const MOST_TRIES = 4

let onSignedOut: (() => void) | undefined

/** Called when the service says that nobody is signed in any more. */
export function whenSignedOut(listener: () => void): void {
  onSignedOut = listener
}

function watch(error: unknown): void {
  if (!(error instanceof Refusal)) return
  if (error.code === 'sign_in_required') onSignedOut?.()
  // A membership was taken away, or changed: who we are is asked again.
  if (error.code === 'membership_required') void queryClient.invalidateQueries({ queryKey: ['me'] })
}

/** A refusal stays one; a service that does not answer comes back. */
export const queryClient = new QueryClient({
  queryCache: new QueryCache({ onError: watch }),
  mutationCache: new MutationCache({ onError: watch }),
  defaultOptions: {
    queries: {
      staleTime: 2_000,
      retry: (failures, error) => {
        const mayPass = !(error instanceof Refusal) || error.status >= 500 || error.status === 429
        return mayPass && failures < MOST_TRIES
      },
    },
  },
})
