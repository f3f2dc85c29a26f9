import { rmSync } from 'node:fs';
import { chromium, type BrowserContext, type Page } from 'playwright-core';
import { findProgram } from '../peers/peers.ts';
import { scratchFolder } from '../rig/scratch.ts';

const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--disable-default-apps',
  '--disable-extensions',
  // A process for every frame and site would be a third of the work; that is no wall that our pages rely on.
  '--disable-site-isolation-trials',
];

export interface Chromium {
  context: BrowserContext;
  /** May be called again. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * A headless Chromium to which `evilHost` is the port `outsidePort` of this machine and every other name but 127.0.0.1
 * does not exist: it can call nobody but the test. The profile is a fresh folder and no private window, because
 * Chromium follows preconnect hints only outside of those.
 */
export async function startChromium(options: { evilHost: string; outsidePort: number }): Promise<Chromium> {
  const executablePath = findProgram('chromium');
  if (executablePath === undefined) throw new Error('chromium is not installed');
  const { evilHost, outsidePort } = options;
  const rules = `MAP ${evilHost} 127.0.0.1:${outsidePort}, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1`;
  const profile = scratchFolder('rasket-chromium-');
  const args = [...FLAGS, `--host-resolver-rules=${rules}`];
  const context = await chromium.launchPersistentContext(profile, { executablePath, headless: true, args });
  const close = async (): Promise<void> => {
    await context.close();
    rmSync(profile, { recursive: true, force: true, maxRetries: 10 });
  };
  return { context, close, [Symbol.asyncDispose]: close };
}

/** Chromium drops keys that are pressed between the load of a page and its first paint. */
export async function painted(page: Page): Promise<void> {
  await page.waitForFunction(() => performance.getEntriesByName('first-contentful-paint').length > 0);
}
