import { mkdirSync } from 'node:fs';
import path from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { countClicks } from '../../src/features/campaigns/broadcast-recipients/links.store.ts';
import { countOutcomes } from '../../src/features/campaigns/broadcast-recipients/outcomes.store.ts';
import { insertRecipients } from '../../src/features/campaigns/broadcast-recipients/broadcast-recipients.store.ts';
import { openDesk, type Desk } from '../api/broadcasts/drafting.ts';
import { describePeers } from '../peers/peers.ts';
import { startScene, type Scene } from '../rig/scene.ts';
import { startChromium, type Chromium } from './chromium.ts';
import { hostileHtml } from './hostile-html.ts';
import { startOutside, type Outside } from './outside.ts';
import { faultsInEveryView } from './page-faults.ts';
import { watchPage } from './watch-page.ts';

const EVIL_HOST = 'evil.example';
/** Pictures of every page stay there after the run, to be looked at. */
const PICTURES = path.resolve(import.meta.dirname, '../../.cache/broadcast-pages');

const HTML = `<style>body{background:rgb(255,255,255)}p{color:rgb(1,1,1)}
@media (prefers-color-scheme:dark){body{background:rgb(10,20,30)}p{color:rgb(240,240,240)}}
@media (max-width:480px){p{margin-left:33px}}</style>
<p>Hello {{{FIRST_NAME|friend}}}</p><p><a href="https://shop.example/coats">Coats</a>, <a href="https://shop.example/hats?page=1">hats</a></p>`;

describePeers('the page of a broadcast in a real browser', ['chromium'], () => {
  let scene: Scene;
  let desk: Desk;
  let outside: Outside;
  let browser: Chromium;
  beforeAll(async () => {
    mkdirSync(PICTURES, { recursive: true });
    scene = await startScene({ roles: ['http'] });
    desk = await openDesk(scene);
    for (const [email, first_name] of [
      ['ada@readers.example', 'Ada'],
      ['grace@readers.example', 'Grace'],
    ])
      await desk.call('POST', '/contacts', { email, first_name, segments: [{ id: desk.segment }] });
    outside = await startOutside();
    browser = await startChromium({ evilHost: EVIL_HOST, outsidePort: outside.port });
  });
  afterAll(async () => {
    await browser.close();
    await outside.close();
    await scene.close();
  });

  const share = async (id: string, body: object = {}): Promise<string> =>
    (await desk.call('POST', `/broadcasts/${id}/share`, body)).body.url as string;
  const newPage = async (): Promise<Page> => {
    const page = await browser.context.newPage();
    await page.bringToFront();
    return page;
  };
  const press = (page: Page, name: string) =>
    Promise.all([page.waitForNavigation(), page.getByRole('link', { name, exact: true }).click()]);
  const look = (page: Page) =>
    page.frames()[1]?.evaluate(`(() => {
      const p = document.querySelector('p');
      const { color, marginLeft } = getComputedStyle(p);
      return { color, marginLeft, ground: getComputedStyle(document.body).backgroundColor, width: innerWidth };
    })()`);

  it('shows the email at the width of a phone and of a desktop, in light and in dark colors', async () => {
    const page = await newPage();
    await page.emulateMedia({ colorScheme: 'dark' });
    await page.goto(await share(await desk.make({ html: HTML })));
    const light = { color: 'rgb(1, 1, 1)', ground: 'rgb(255, 255, 255)' };
    expect(await look(page)).toEqual({ ...light, marginLeft: '0px', width: 698 });
    await press(page, 'Phone');
    expect(await look(page)).toEqual({ ...light, marginLeft: '33px', width: 373 });
    await page.emulateMedia({ colorScheme: 'light' });
    await press(page, 'Dark');
    const dark = { color: 'rgb(240, 240, 240)', ground: 'rgb(10, 20, 30)' };
    expect(await look(page)).toEqual({ ...dark, marginLeft: '33px', width: 373 });
    await page.close();
  });

  it('runs no script, sends no request and leads nowhere, whatever the email contains', async () => {
    const page = await newPage();
    const seen: string[] = [];
    const html = hostileHtml(`http://${EVIL_HOST}`)
      .map((one) => one.html)
      .join('\n')
      .slice(0, 400_000);
    const url = await share(await desk.make({ html }));
    const stop = watchPage(
      page,
      (request) => request.url() === url || request.url().startsWith('data:') || request.url() === 'about:srcdoc',
      (happened) => void seen.push(happened),
    );
    await page.goto(url);
    expect(page.url()).toBe(url);
    expect(page.frames()).toHaveLength(2);
    expect(await page.evaluate(`document.querySelectorAll('script,form,object,embed').length`)).toBe(0);
    expect(await page.locator('iframe').getAttribute('sandbox')).toBe('');
    stop();
    await page.close();
    expect(seen).toEqual([]);
    expect({ asked: outside.asked, connections: outside.connections() }).toEqual({ asked: [], connections: 0 });
  });

  it('has no fault that axe finds, before and after sending, on a phone and on a desktop', async () => {
    const contacts = ['ada@readers.example', 'grace@readers.example'];
    const draft = await share(await desk.make({ html: HTML, preview_text: 'Coats and hats' }), { contacts });
    const faulty = await share(await desk.make({ html: '<p><a href="#">{{{UNKNOWN}}}</a></p>', segment_id: null }));
    const sent = await share(await makeSent());
    const faults: string[] = [];
    for (const [name, url] of [
      ['draft', draft],
      ['draft-phone-dark', `${draft}?width=phone&colors=dark&contact=2`],
      ['draft-text', `${draft}?part=text`],
      ['problems', faulty],
      ['report', sent],
      ['unknown', `${scene.url}/preview/rs_unknown`],
    ] as const) {
      const page = await newPage();
      await page.goto(url);
      faults.push(...(await faultsInEveryView(page, { name, pictures: PICTURES })));
      // A picture of the whole page leaves frames out of view empty.
      const frame = page.locator('iframe');
      if ((await frame.count()) > 0) await frame.screenshot({ path: path.join(PICTURES, `${name}-email.png`) });
      await page.close();
    }
    expect(faults).toEqual([]);
  });

  it('takes a review by keyboard, and shows it on the page', async () => {
    const id = await desk.make({ html: HTML, require_review: true });
    const page = await newPage();
    await page.goto(await share(id, { allow_review: true }));
    const faults = await faultsInEveryView(page, { name: 'review-open', pictures: PICTURES });
    await press(page, 'Approve or request changes');
    const pressButton = (name: string) =>
      Promise.all([page.waitForNavigation(), page.getByRole('button', { name, exact: true }).click()]);
    await pressButton('Request changes');
    expect(await page.title()).toBe('Error: Review “What is new” – rasket');
    faults.push(...(await faultsInEveryView(page, { name: 'review-fault', pictures: PICTURES })));
    await page.getByLabel('Your name').fill('Grace');
    await page.getByLabel('Note').fill('Fine.\nGo.');
    faults.push(...(await faultsInEveryView(page, { name: 'review-form', pictures: PICTURES })));
    await pressButton('Approve');
    await page.getByText('It is approved.').waitFor();
    expect(await page.getByRole('listitem').filter({ hasText: 'Grace' }).textContent()).toContain('Fine.\nGo.');
    faults.push(...(await faultsInEveryView(page, { name: 'review-done', pictures: PICTURES })));
    expect(faults).toEqual([]);
    await desk.call('PATCH', `/broadcasts/${id}`, { subject: 'What is old' });
    await page.reload();
    await page.getByText('that review no longer counts').waitFor();
    await page.close();
  });

  /** Creates a broadcast that was sent a day ago, with outcomes. */
  async function makeSent(): Promise<string> {
    const id = await desk.make({ html: HTML });
    const { db, ids, clock } = scene.app.world;
    const addresses = ['gmail.com', 'outlook.com', 'example.org'].flatMap((domain, n) =>
      Array.from({ length: 40 - 12 * n }, (_, at) => `reader${at}@${domain}`),
    );
    const rows = addresses.map((email) => ({
      broadcast_id: id,
      email_key: email,
      id: ids.uuid(),
      contact_id: null,
      email,
      email_id: ids.uuid(),
      excluded: null,
    }));
    await db.tx((tx) => insertRecipients(tx, rows));
    await db.run(
      "update broadcasts set status = 'sent', started_at = ?, sent_at = ?, total = 84, recipients = 84 where id = ?",
      [clock.now() - 86_400_000, clock.now() - 80_000_000, id],
    );
    const count = (type: string, from: number, until: number, more: object = {}) =>
      db.tx(async (tx) => {
        const outcomes = rows.slice(from, until).map((row) => ({ emailId: row.email_id, type, ...more }));
        await countOutcomes(tx, ids, outcomes);
        await countClicks(tx, () => ids.uuid(), outcomes);
      });
    await count('email.sent', 0, 84);
    await count('email.delivered', 0, 80);
    await count('email.bounced', 80, 84, { bounce: 'permanent' });
    await count('email.opened', 10, 60);
    await count('email.clicked', 20, 50, { link: 'https://shop.example/coats' });
    await count('email.clicked', 30, 40, { link: 'https://shop.example/hats?page=1' });
    const columns = [
      'team_id',
      'scope',
      'span_minutes',
      'slot',
      'shard',
      'delivered',
      'unique_opened',
      'unique_clicked',
    ];
    const first = Math.floor((clock.now() - 86_400_000) / 900_000);
    await db.insertMany(
      'metric_counts',
      columns,
      Array.from({ length: 96 }, (_, n) => [
        desk.team.id,
        `b:${id}:${desk.domain.id}`,
        15,
        first + n,
        0,
        Math.round(80 / (1 + n)),
        Math.round(20 / (1 + Math.abs(n - 8))),
        Math.round(9 / (1 + Math.abs(n - 12))),
      ]),
    );
    return id;
  }
});
