const ASK_AGAIN_AFTER_MS = 1_000

/** Loads a part of the console that comes when it is first needed; a service that is away just then is waited for. */
export function loadCode<Module>(load: () => Promise<Module>): Promise<Module> {
  return load().catch(() => serviceAnswers().then(load))
}

async function serviceAnswers(): Promise<void> {
  for (;;) {
    const answer = await fetch('/console', { cache: 'no-store' }).catch(() => undefined)
    if (answer?.ok) return
    await new Promise((resolve) => setTimeout(resolve, ASK_AGAIN_AFTER_MS))
  }
}
