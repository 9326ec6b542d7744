import packed from '@sparticuz/chromium'
import { type Browser, chromium } from 'playwright-core'

/** A real browser that comes from npm. It is unpacked into the folder for temporary files, once. */
export async function startChromium(): Promise<Browser> {
  return chromium.launch({
    executablePath: await packed.executablePath(),
    args: packed.args,
    headless: true,
  })
}
