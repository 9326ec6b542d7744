import packed from '@sparticuz/chromium'
import { type Browser, chromium } from 'playwright-core'

// Not the flags that the package proposes: they turn off what keeps pages apart, which is what we want to see at work.
const flags = ['--no-sandbox', '--disable-dev-shm-usage']

/** A real browser that comes from npm. It is unpacked into the folder for temporary files, once. */
export async function startChromium(): Promise<Browser> {
  return chromium.launch({ executablePath: await packed.executablePath(), args: flags, headless: true })
}
