import { writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Page, Request } from 'playwright-core';
import { expect, it, onTestFinished } from 'vitest';
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
/** What the browser itself stopped is named as a request too; its failure says so, a moment later. */
const STOPPED = /^(?:csp|origin)$|BLOCKED_BY/;
/** A page that was left cuts what it had begun; whether it had gone out, the outside server knows. */
const CUT = 'net::ERR_ABORTED';

describePeers('the file of a preview in a real browser', ['chromium'], () => {
  it('runs no script, opens nothing and goes nowhere, whatever its author wrote', async () => {
    const folder = scratchFolder('rasket-preview-');
    const outside = await startOutside();
    onTestFinished(outside.close);
    const browser = await startChromium({ evilHost: EVIL_HOST, outsidePort: outside.port });
    onTestFinished(browser.close);
    const seen: string[] = [];
    const requests: { name: string; request: Request }[] = [];
    const cases = [...hostileHtml(`http://${EVIL_HOST}`).entries()];
    const worker = async (): Promise<void> => {
      const page = await browser.context.newPage();
      for (let next = cases.shift(); next !== undefined; next = cases.shift()) {
        const [i, { name, html }] = next;
        const file = path.join(folder, `${i}.html`);
        const mail = { html, text: null, preview_text: null, missing: [] };
        const fields = { subject: `</title>${html}`, from: html, to: html };
        writeFileSync(file, previewPage({ object: 'broadcast_preview', ...fields, ...mail }));
        const noteRequest = (request: Request): void => void requests.push({ name, request });
        const stop = watch(page, noteRequest, (happened) => void seen.push(`${name}: ${happened}`));
        await page.goto(`file://${file}`);
        const at = { url: page.url(), title: await page.title() };
        if (at.url !== `file://${file}` || at.title === SCRIPT_RAN) seen.push(`${name}: it went to ${at.url}`);
        stop();
      }
    };
    await Promise.all(Array.from({ length: PAGES }, worker));
    // By now the browser has said of each request how it ended.
    await browser.close();
    const heard = new Set(outside.asked.map(({ target }) => target));
    const left = requests.filter(({ request }) => wentOut(request, heard));
    expect([
      ...seen,
      ...left.map(({ name, request }) => `${name}: ${request.resourceType()} ${request.url()}`),
    ]).toEqual([]);
    expect(heard.size).toBeGreaterThan(20);
  });
});

/** Whether the browser let a request pass that a preview has no need of. */
function wentOut(request: Request, heard: Set<string>): boolean {
  if (!request.url().startsWith('http') || SHOWN.includes(request.resourceType())) return false;
  const failure = request.failure()?.errorText;
  if (failure !== undefined && STOPPED.test(failure)) return false;
  const { pathname, search } = new URL(request.url());
  return heard.has(pathname + search) || (failure !== undefined && failure !== CUT);
}

function watch(page: Page, noteRequest: (request: Request) => void, note: (happened: string) => void): () => void {
  const listeners = {
    request: noteRequest,
    console: (message: { text(): string }): unknown => message.text() === SCRIPT_RAN && note('a script ran'),
    dialog: (): void => note('a dialog opened'),
    popup: (): void => note('a window opened'),
    download: (): void => note('a download began'),
  };
  for (const [event, listener] of Object.entries(listeners)) page.on(event as 'popup', listener as () => void);
  return () => {
    for (const [event, listener] of Object.entries(listeners)) page.off(event as 'popup', listener as () => void);
  };
}
