// the public archive of broadcasts, as people with a keyboard, a telephone or a screen reader and hostile mail meet it
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { campaignIn, type Campaign } from '../flow/campaign.ts';
import { describePeers } from '../peers/peers.ts';
import { buildPng } from '../rig/pictures.ts';
import { startScene, type Scene } from '../rig/scene.ts';
import { startChromium, type Chromium } from './chromium.ts';
import { hostileHtml } from './hostile-html.ts';
import { startOutside, type Outside } from './outside.ts';
import { faultsInEveryView } from './page-faults.ts';
import { watchPage } from './watch-page.ts';

const EVIL_HOST = 'evil.example';
/** Pictures of the pages stay there after the run, to be looked at. */
const PICTURES = path.resolve(import.meta.dirname, '../../.cache/archive-pages');

describePeers('the public archive in a real browser', ['chromium'], () => {
  let scene: Scene;
  let campaign: Campaign;
  let outside: Outside;
  let browser: Chromium;
  let address: string;
  beforeAll(async () => {
    mkdirSync(PICTURES, { recursive: true });
    scene = await startScene();
    campaign = await campaignIn(scene);
    await campaign.addContacts(['ada@one.example']);
    const headers = { 'content-type': 'image/png' };
    const logo = await scene.api('POST', '/images', { key: campaign.team.key, body: buildPng(160, 48), headers });
    const look = { logo_url: logo.body.url, accent_color: '#7a1fa2', page_headline: 'Tea, every month' };
    const { body } = await campaign.call('PATCH', '/team', { archive_enabled: true, ...look });
    address = new URL((body as { archive_url: string }).archive_url).pathname;
    outside = await startOutside();
    browser = await startChromium({ evilHost: EVIL_HOST, outsidePort: outside.port });
  });
  afterAll(async () => {
    await browser.close();
    await outside.close();
    await scene.close();
  });

  async function publish(subject: string, html: string): Promise<string> {
    const id = await campaign.broadcast({ subject, html, archive: true, acknowledge_checks: true });
    await scene.settled();
    return id;
  }

  it('the archive leads from the list to a broadcast and back by keyboard, and neither page has a fault in any view', async () => {
    const html =
      '<h2>Autumn teas</h2><p>Dear {{{FIRST_NAME|friend of tea}}}, three new teas have arrived.</p><a href="https://shop.example/teas">See them</a><img src="https://shop.example/tea.png" alt="A cup of tea">';
    await publish('Winter teas, and how to brew them without a kettle, a stove or any patience', html);
    await publish('Autumn teas', html);
    const page = await browser.context.newPage();
    await page.bringToFront();
    await page.goto(scene.url + address);
    expect(await faultsInEveryView(page, { name: 'list', pictures: PICTURES })).toEqual([]);
    expect(await page.getByRole('link').allTextContents()).toEqual([
      'Autumn teas',
      'Winter teas, and how to brew them without a kettle, a stove or any patience',
    ]);
    await page.keyboard.press('Tab');
    await Promise.all([page.waitForNavigation(), page.keyboard.press('Enter')]);
    expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe('Autumn teas');
    expect(await page.frames()[1]?.locator('p').first().textContent()).toContain('Dear friend of tea');
    expect(await page.evaluate('document.querySelector("img").naturalWidth')).toBe(160);
    expect(await faultsInEveryView(page, { name: 'broadcast', pictures: PICTURES })).toEqual([]);
    await page.getByText('Links in this email').click();
    const links = page.getByRole('main').getByRole('link');
    expect(await links.allTextContents()).toEqual(['Show remote images', 'https://shop.example/teas']);
    await page.getByRole('link', { name: 'All newsletters' }).click();
    expect(page.url()).toBe(scene.url + address);
    await page.close();
  });

  it('a page of the archive runs no script, asks nobody and stays in its frame, whatever a broadcast contains', async () => {
    const groups = Map.groupBy(hostileHtml(`http://${EVIL_HOST}`), ({ name }) => name.split(':', 1)[0] ?? '');
    const seen: string[] = [];
    const page = await browser.context.newPage();
    for (const [group, payloads] of groups) {
      const id = await publish(group, payloads.map(({ html }) => html).join('\n'));
      const url = `${scene.url}${address}/${id}`;
      const stop = watchPage(
        page,
        (request) => request.url() === url || /^(?:data:|about:srcdoc$)/.test(request.url()) || isLogo(request.url()),
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

  const isLogo = (url: string): boolean => url.startsWith(`${scene.url}/i/`);
});
