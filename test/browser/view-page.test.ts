// a broadcast --> the link in it that shows it in a browser --> the page, as people and hostile mail meet it
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { campaignIn, type Campaign } from '../flow/campaign.ts';
import { describePeers } from '../peers/peers.ts';
import { startScene, type Scene } from '../rig/scene.ts';
import { startChromium, type Chromium } from './chromium.ts';
import { hostileHtml } from './hostile-html.ts';
import { startOutside, type Outside } from './outside.ts';
import { faultsInEveryView } from './page-faults.ts';
import { watchPage } from './watch-page.ts';

const EVIL_HOST = 'evil.example';
/** Pictures of the page stay there after the run, to be looked at. */
const PICTURES = path.resolve(import.meta.dirname, '../../.cache/view-page');

describePeers('an email that its recipient views in a browser', ['chromium'], () => {
  let scene: Scene;
  let campaign: Campaign;
  let outside: Outside;
  let browser: Chromium;
  beforeAll(async () => {
    mkdirSync(PICTURES, { recursive: true });
    scene = await startScene();
    campaign = await campaignIn(scene);
    await campaign.addContacts(['ada@one.example']);
    outside = await startOutside();
    browser = await startChromium({ evilHost: EVIL_HOST, outsidePort: outside.port });
  });
  afterAll(async () => {
    await browser.close();
    await outside.close();
    await scene.close();
  });

  async function send(subject: string, html: string): Promise<string> {
    const text = 'See {{{VIEW_IN_BROWSER_URL}}}';
    await campaign.broadcast({ subject, html, text, acknowledge_checks: true });
    await scene.settled();
    const [email] = ((await campaign.read('/emails')) as { data: { id: string }[] }).data;
    const sent = (await campaign.read(`/emails/${email?.id}`)) as { text: string };
    return new URL(/http\S*\/view\/\S*/.exec(sent.text)?.[0] ?? '').pathname;
  }

  it('runs no script, asks nobody and stays in its frame, whatever it contains', async () => {
    const groups = Map.groupBy(hostileHtml(`http://${EVIL_HOST}`), ({ name }) => name.split(':', 1)[0] ?? '');
    const seen: string[] = [];
    const page = await browser.context.newPage();
    for (const [group, payloads] of groups) {
      const url = scene.url + (await send(group, payloads.map(({ html }) => html).join('\n')));
      const stop = watchPage(
        page,
        (request) => request.url() === url || /^(?:data:|about:srcdoc$)/.test(request.url()),
        (happened) => void seen.push(`${group}: ${happened}`),
      );
      await page.goto(url);
      expect(page.url(), group).toBe(url);
      expect(await page.title(), group).toBe(group);
      expect(
        await page.frames()[1]?.evaluate('document.querySelectorAll("script,link,base,iframe,[href]").length'),
      ).toBe(0);
      expect(await page.evaluate('document.querySelectorAll("script,object,embed,form").length'), group).toBe(0);
      stop();
    }
    await page.close();
    expect(seen).toEqual([]);
    expect(outside.asked).toEqual([]);
    expect(groups.size).toBeGreaterThan(3);
  });

  it('has no fault that a screen reader, a telephone or a dark screen would meet', async () => {
    const html =
      '<h2>Autumn teas</h2><p>Three new teas have arrived.</p><a href="https://shop.example/teas">See them</a><img src="https://shop.example/tea.png" alt="A cup of tea">';
    const url = scene.url + (await send('Autumn teas', html));
    const page = await browser.context.newPage();
    await page.bringToFront();
    await page.goto(url);
    expect(await faultsInEveryView(page, { name: 'view', pictures: PICTURES })).toEqual([]);
    await page.getByText('Links in this email').click();
    expect(await page.getByRole('link', { name: 'https://shop.example/teas' }).getAttribute('href')).toBe(
      'https://shop.example/teas',
    );
    await page.close();
  });
});
