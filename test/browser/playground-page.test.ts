import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { describePeers } from '../peers/peers.ts';
import { startScene, type Scene, type Team } from '../rig/scene.ts';
import { startChromium, type Chromium } from './chromium.ts';
import { hostileHtml, SCRIPT_RAN } from './hostile-html.ts';
import { findFaults, show, VIEWS } from './page-faults.ts';
import { startOutside, type Outside } from './outside.ts';

/** Pictures of the pages stay there after the run, to be looked at. */
const PICTURES = path.resolve(import.meta.dirname, '../../.cache/playground-pages');
const EVIL_HOST = 'evil.example';

describePeers('the playground in a real browser', ['chromium'], () => {
  let scene: Scene;
  let team: Team;
  let from: string;
  let outside: Outside;
  let browser: Chromium;
  beforeAll(async () => {
    mkdirSync(PICTURES, { recursive: true });
    scene = await startScene({ profile: 'development', config: { delivery: { capture: true } } });
    team = await scene.team();
    from = `Ada <ada@${(await team.domain()).name}>`;
    outside = await startOutside();
    browser = await startChromium({ evilHost: EVIL_HOST, outsidePort: outside.port });
  });
  afterAll(async () => {
    await browser.close();
    await outside.close();
    await scene.close();
  });

  async function send(body: Record<string, unknown>): Promise<void> {
    const sent = await scene.api('POST', '/emails', { key: team.key, body: { from, to: 'b@example.org', ...body } });
    expect(sent.status, JSON.stringify(sent.body)).toBe(200);
    await scene.settled();
  }

  it('is usable by keyboard and accessible in light desktop and dark phone views', async () => {
    await send({ subject: 'Bounced', text: 'x', to: `bounced@simulator.${scene.app.world.config.instance.host}` });
    await send({
      subject: 'A receipt',
      html: '<h1>Thanks</h1><p>Your <b>receipt</b> is <a href="https://example.com/r">here</a>.</p>',
      attachments: [{ filename: 'receipt.txt', content: Buffer.from('12 EUR').toString('base64') }],
    });
    const page = await browser.context.newPage();
    await page.bringToFront();
    for (const look of VIEWS) {
      await show(page, look);
      const locatePicture = (name: string): string => path.join(PICTURES, `${name}-${look.view}.png`);
      await page.goto(`${scene.url}/playground`);
      expect(await findFaults(page, { picture: locatePicture('inbox') }), 'inbox').toEqual([]);
      await page.getByRole('link', { name: 'A receipt' }).focus();
      await Promise.all([page.waitForNavigation(), page.keyboard.press('Enter')]);
      expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe('A receipt');
      expect(await page.frameLocator('iframe').getByRole('heading', { name: 'Thanks' }).count()).toBe(1);
      expect(await page.locator('section[aria-labelledby=checks]').textContent()).toMatch(
        /SPF✓ pass.*DKIM✓ pass.*DMARC✓ pass/s,
      );
      await page.getByText('Headers', { exact: true }).click();
      expect(await findFaults(page, { picture: locatePicture('message') }), 'message').toEqual([]);
      // A frame that is out of sight is not drawn into the picture of the whole page.
      await page.locator('iframe').screenshot({ path: locatePicture('frame') });
    }
    await page.close();
  });

  it('runs no script and sends no request, whatever the message contains', async () => {
    const corpus = hostileHtml(`http://${EVIL_HOST}`);
    // The payloads come in groups: a test with shared emails shows that each alone is harmless in this frame.
    for (const [group, payloads] of Map.groupBy(corpus, ({ name }) => name.split(':', 1)[0] ?? ''))
      await send({ subject: `<img src=//${EVIL_HOST}/s>${group}`, html: payloads.map(({ html }) => html).join('\n') });
    const page = await browser.context.newPage();
    const said: string[] = [];
    page.on('console', (message) => void (message.text() === SCRIPT_RAN && said.push(page.url())));
    await page.goto(`${scene.url}/playground`);
    const found = await page.getByRole('main').getByRole('link').all();
    const links = await Promise.all(found.map((link) => link.getAttribute('href')));
    expect(links.length).toBeGreaterThan(5);
    for (const link of links) {
      await page.goto(`${scene.url}${link}`, { waitUntil: 'networkidle' });
      expect(new URL(page.url()).pathname).toBe(link);
      expect(await page.locator('script').count()).toBe(0);
    }
    expect({ said, asked: outside.asked, connections: outside.connections() }).toEqual({
      said: [],
      asked: [],
      connections: 0,
    });
    await page.close();
  });
});
