import { writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Page, Request } from 'playwright-core';
import { expect, it } from 'vitest';
import { previewPage } from '../../cli/commands/broadcasts/preview-page.ts';
import { describePeers } from '../peers/peers.ts';
import { scratchFolder } from '../rig/scratch.ts';
import { startChromium } from './chromium.ts';
import { hostileHtml, SCRIPT_RAN } from './hostile-html.ts';
import { startOutside } from './outside.ts';

const EVIL_HOST = 'evil.example';
const PAGES = 6;
/** What a preview is to look like needs these. */
const SHOWN = ['image', 'stylesheet', 'font'];
/** What the browser itself stopped is named as a request too, and says why it never was one. */
const STOPPED = /^(?:csp|origin)$|BLOCKED_BY/;

describePeers('the file of a preview in a real browser', ['chromium'], () => {
  it('runs no script, opens nothing and goes nowhere, whatever its author wrote', async () => {
    const folder = scratchFolder('rasket-preview-');
    const outside = await startOutside();
    const browser = await startChromium({ evilHost: EVIL_HOST, outsidePort: outside.port });
    const seen: string[] = [];
    const left = [...hostileHtml(`http://${EVIL_HOST}`).entries()];
    const worker = async (): Promise<void> => {
      const page = await browser.context.newPage();
      for (let next = left.shift(); next !== undefined; next = left.shift()) {
        const [i, { name, html }] = next;
        const file = path.join(folder, `${i}.html`);
        const mail = { html, text: null, preview_text: null, missing: [] };
        const fields = { subject: `</title>${html}`, from: html, to: html };
        writeFileSync(file, previewPage({ object: 'broadcast_preview', ...fields, ...mail }));
        const stop = watch(page, (happened) => void seen.push(`${name}: ${happened}`));
        await page.goto(`file://${file}`);
        const at = { url: page.url(), title: await page.title() };
        if (at.url !== `file://${file}` || at.title === SCRIPT_RAN) seen.push(`${name}: it went to ${at.url}`);
        stop();
      }
    };
    await Promise.all(Array.from({ length: PAGES }, worker));
    expect(seen).toEqual([]);
    expect(outside.asked.length).toBeGreaterThan(20);
    await browser.close();
    await outside.close();
  });
});

function watch(page: Page, note: (happened: string) => void): () => void {
  const asked: Request[] = [];
  const listeners = {
    request: (request: Request): void => void asked.push(request),
    console: (message: { text(): string }): unknown => message.text() === SCRIPT_RAN && note('a script ran'),
    dialog: (): void => note('a dialog opened'),
    popup: (): void => note('a window opened'),
    download: (): void => note('a download began'),
  };
  for (const [event, listener] of Object.entries(listeners)) page.on(event as 'popup', listener as () => void);
  return () => {
    for (const [event, listener] of Object.entries(listeners)) page.off(event as 'popup', listener as () => void);
    for (const request of asked) {
      const isOutside = request.url().startsWith('http') && !SHOWN.includes(request.resourceType());
      if (isOutside && !STOPPED.test(request.failure()?.errorText ?? ''))
        note(`${request.resourceType()} ${request.url()}`);
    }
  };
}
