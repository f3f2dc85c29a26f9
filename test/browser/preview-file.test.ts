import { writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Request } from 'playwright-core';
import { expect, it } from 'vitest';
import { previewPage } from '../../cli/commands/broadcasts/preview.ts';
import { describePeers } from '../peers/peers.ts';
import { scratchFolder } from '../rig/scratch.ts';
import { startChromium } from './chromium.ts';
import { hostileHtml, SCRIPT_RAN } from './hostile-html.ts';
import { startOutside, type Outside } from './outside.ts';
import { watchPage } from './watch-page.ts';

const EVIL_HOST = 'evil.example';
const PAGES = 6;
/** The kinds of files that a preview needs to look right. */
const SHOWN = ['image', 'stylesheet', 'font'];
/** Matches how a browser asks for a picture or a style. */
const ACCEPTS_SHOWN = /^(?:image|text\/css)\b/;
/**
 * A font is asked for as anything is, so that only these cases may. And a prefetch is allowed by a policy that allows any kind
 * of file: it tells its host what a picture would, and what comes of it is never used.
 */
const MAY_ASK = /^\/(?:style-font-face|link-prefetch)/;
describePeers('the HTML file of a preview in a real browser', ['chromium'], () => {
  it('runs no script, opens nothing and leads nowhere, whatever its author wrote', async () => {
    const folder = scratchFolder('rasket-preview-');
    await using outside = await startOutside();
    await using browser = await startChromium({ evilHost: EVIL_HOST, outsidePort: outside.port });
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
        const stop = watchPage(page, isShown, (happened) => void seen.push(`${name}: ${happened}`));
        await page.goto(`file://${file}`);
        const at = { url: page.url(), title: await page.title() };
        if (at.url !== `file://${file}` || at.title === SCRIPT_RAN) seen.push(`${name}: it went to ${at.url}`);
        stop();
      }
    };
    await Promise.all(Array.from({ length: PAGES }, worker));
    await browser.close();
    await outside.heardAll();
    expect({ seen, asked: outside.asked.filter(isMore).map(({ target }) => target) }).toEqual({ seen: [], asked: [] });
    expect(outside.asked.length).toBeGreaterThan(20);
  });
});

const isShown = (request: Request): boolean =>
  !request.url().startsWith('http') ||
  SHOWN.includes(request.resourceType()) ||
  MAY_ASK.test(new URL(request.url()).pathname);

const isMore = ({ target, headers }: Outside['asked'][number]): boolean =>
  !ACCEPTS_SHOWN.test(headers.accept ?? '') && !MAY_ASK.test(target);
