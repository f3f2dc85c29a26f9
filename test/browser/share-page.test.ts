import { once } from 'node:events';
import type { Page, Request } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { describePeers } from '../peers/peers.ts';
import { startScene, type Scene, type Team } from '../rig/scene.ts';
import { startChromium, type Chromium } from './chromium.ts';
import { hostileHtml, SCRIPT_RAN } from './hostile-html.ts';
import { startOutside, type Outside } from './outside.ts';
import { servePlain } from './serve-plain.ts';
import { watchPage } from './watch-page.ts';

const EVIL_HOST = 'evil.example';
const PAGES = 6;
const corpus = hostileHtml(`http://${EVIL_HOST}`);

interface Seen {
  page: string;
  happened: string;
}

describePeers('a shared email in a real browser', ['chromium'], () => {
  let scene: Scene;
  let team: Team;
  let from: string;
  let outside: Outside;
  let browser: Chromium;
  beforeAll(async () => {
    // A shared email need not have been delivered.
    scene = await startScene({ roles: ['http'] });
    team = await scene.team();
    from = `a@${(await team.domain()).name}`;
  });
  afterAll(() => scene.close());

  /** A browser that has never spoken to anybody, and an outside that has never been spoken to. */
  async function withBrowser(work: () => Promise<void>): Promise<void> {
    outside = await startOutside();
    browser = await startChromium({ evilHost: EVIL_HOST, outsidePort: outside.port });
    try {
      await work();
    } finally {
      await browser.close();
      await outside.close();
    }
  }

  it('comes from a live corpus: without our page its payloads run scripts, send requests or connect', async () => {
    await withBrowser(async () => {
      const plain = await servePlain(corpus.map(({ html }) => `<!doctype html>${html}`));
      const live = corpus.filter((payload) => payload.live === 'runs or asks');
      expect(live.length).toBeGreaterThan(80);
      await inParallel(live, async (payload, page) => {
        await insist(payload.name, async () => {
          const ran = page.waitForEvent('console', {
            predicate: (message) => message.text() === SCRIPT_RAN,
            timeout: 0,
          });
          await open(page, `${plain.url}/${corpus.indexOf(payload)}`);
          await Promise.race([ran.catch(() => outside.hears(payload.path)), outside.hears(payload.path)]);
        });
      });
      for (const payload of corpus.filter(({ live }) => live === 'connects')) {
        await insist(payload.name, async () => {
          outside.hangUp();
          const connected = outside.connected();
          const page = await browser.context.newPage();
          await open(page, `${plain.url}/${corpus.indexOf(payload)}`);
          await connected;
          await page.close();
        });
      }
      plain.close();
    });
  });

  it('runs no script, sends no request and leads nowhere, whatever it contains and wherever one clicks', async () => {
    await withBrowser(async () => {
      const seen: Seen[] = [];
      await inParallel(corpus, async (payload, page) => {
        const url = await createShare(payload.name, payload.html);
        const note = (happened: string): void => void seen.push({ page: payload.name, happened });
        const stop = watchPage(page, (request) => isOurs(request, url), note);
        await page.goto(url);
        await mustBeHarmless(page, url, payload.name);
        await clickEverything(page);
        await mustBeHarmless(page, url, payload.name);
        stop();
      });
      await browser.close();
      await outside.heardAll();
      expect(seen).toEqual([]);
      expect({ asked: outside.asked, connections: outside.connections() }).toEqual({ asked: [], connections: 0 });
    });
  });

  it('loads remote images on request, without the address of the page, and nothing else', async () => {
    await withBrowser(async () => {
      const seen: Seen[] = [];
      // One page for each group: what a single payload does alone has been seen above.
      const groups = Map.groupBy(corpus, ({ name }) => name.split(':', 1)[0] ?? '');
      await inParallel([...groups], async ([group, payloads], page) => {
        const url = `${await createShare(group, payloads.map(({ html }) => html).join('\n'))}?images=1`;
        const note = (happened: string): void => void seen.push({ page: group, happened });
        const mayAsk = (request: Request): boolean => isOurs(request, url) || request.resourceType() === 'image';
        const stop = watchPage(page, mayAsk, note);
        await page.goto(url);
        await mustBeHarmless(page, url, group);
        stop();
      });
      await browser.close();
      await outside.heardAll();
      expect(seen).toEqual([]);
      expect(outside.asked.length).toBeGreaterThan(20);
      for (const { target, headers } of outside.asked) {
        expect(headers.accept, target).toMatch(/^image\//);
        expect(headers, target).not.toHaveProperty('referer');
        expect(headers, target).not.toHaveProperty('cookie');
        expect(JSON.stringify(headers), target).not.toContain('/share/');
      }
    });
  });

  it('loads exactly the images after “Show remote images”, and none after “Hide remote images”', async () => {
    await withBrowser(async () => {
      const out = `http://${EVIL_HOST}`;
      const html = `<link rel="stylesheet" href="${out}/sheet"><style>@import "${out}/import";@font-face{font-family:f;src:url(${out}/font)}
        p{font-family:f;background:url(${out}/background)}</style><p>Hello</p><img src="${out}/picture"><script src="${out}/script"></script>
        <iframe src="${out}/frame"></iframe><video src="${out}/video"></video>`;
      const page = await browser.context.newPage();
      await page.goto(await createShare('Images', html));
      expect(outside.connections()).toBe(0);
      await Promise.all([page.waitForEvent('load'), page.getByRole('link', { name: 'Show remote images' }).click()]);
      await Promise.all(['background', 'picture'].map((path) => outside.hears(path)));
      expect(outside.asked.map(({ target }) => target).sort()).toEqual(['/background', '/picture']);
      await Promise.all([page.waitForEvent('load'), page.getByRole('link', { name: 'Hide remote images' }).click()]);
      await browser.close();
      await outside.heardAll();
      expect(outside.asked).toHaveLength(2);
    });
  });

  it('shows its text, its own images and its colors to readers and to screen readers', async () => {
    await withBrowser(async () => {
      const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==';
      const html =
        '<style>h2{color:rgb(1,2,3)}</style><h2 style="margin:7px">Thank you</h2><img src="cid:logo" alt="Logo">';
      const attachments = [{ filename: 'logo.png', content: png, content_id: 'logo' }];
      const page = await browser.context.newPage();
      await page.goto(await createShare('Your receipt', html, { attachments }));
      const inside = page.frameLocator('iframe[title="Content of the email"]');
      const [, frame] = page.frames();
      const look = await frame?.evaluate(`(() => {
        const { color, marginTop } = getComputedStyle(document.querySelector('h2'));
        return { color, marginTop, pixels: document.querySelector('img').naturalWidth };
      })()`);
      expect(look).toEqual({ color: 'rgb(1, 2, 3)', marginTop: '7px', pixels: 1 });
      expect(await inside.getByRole('heading', { name: 'Thank you' }).isVisible()).toBe(true);
      expect(await inside.getByAltText('Logo').isVisible()).toBe(true);
      expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe('Your receipt');
      expect(await page.getByRole('main').count()).toBe(1);
      expect(outside.connections()).toBe(0);
    });
  });

  async function createShare(subject: string, html: string, fields: object = {}): Promise<string> {
    const body = { from, to: ['x@example.org'], subject, html, ...fields };
    const sent = await scene.api('POST', '/emails', { key: team.key, body });
    const made = await scene.api('POST', `/emails/${sent.body.id}/share`, { key: team.key });
    return made.body.url as string;
  }

  async function inParallel<Item>(
    items: readonly Item[],
    work: (item: Item, page: Page) => Promise<void>,
  ): Promise<void> {
    const left = [...items];
    const worker = async (): Promise<void> => {
      const page = await browser.context.newPage();
      for (let item = left.shift(); item !== undefined; item = left.shift()) await work(item, page);
    };
    await Promise.all(Array.from({ length: PAGES }, worker));
  }
});

/** The page at `url` itself, and what stands in it. */
const isOurs = (request: Request, url: string): boolean =>
  request.url() === url || request.url().startsWith('data:') || request.url() === 'about:srcdoc';

// Read in the browser's own tree, where it is too late for any trick of spelling. Ours are two metas: the character set
// and the policy.
const INSIDE = `({
  at: document.URL,
  metas: document.querySelectorAll('meta').length,
  kept: [...document.querySelectorAll('script,link,base,iframe,frame,frameset,object,embed,applet,form,input,button,' +
    'select,textarea,template,svg,math,video,audio,noscript,portal,fencedframe,[href],[attributionsrc]')]
    .map((node) => node.outerHTML),
})`;
const AROUND = `({
  frames: document.querySelectorAll('iframe').length,
  scripts: document.querySelectorAll('script,object,embed,form').length,
  sandbox: document.querySelector('iframe')?.getAttribute('sandbox'),
  parts: document.querySelectorAll('header,main,footer').length,
})`;

async function mustBeHarmless(page: Page, url: string, name: string): Promise<void> {
  expect(page.url(), name).toBe(url);
  expect(await page.title(), name).toBe(name);
  expect(page.frames(), name).toHaveLength(2);
  expect(await page.frames()[1]?.evaluate(INSIDE), name).toEqual({ at: 'about:srcdoc', metas: 2, kept: [] });
  expect(await page.evaluate(AROUND), name).toEqual({ frames: 1, scripts: 0, sandbox: '', parts: 3 });
}

async function clickEverything(page: Page): Promise<void> {
  const [, inside] = page.frames();
  const targets = await inside?.locator('a,area,img,x-button,x-input,summary').all();
  for (const target of targets ?? []) {
    if (!(await target.isVisible())) continue;
    await target.click({ force: true, noWaitAfter: true });
    await target.press('Enter', { noWaitAfter: true });
  }
}

const TRIES = 5;
const TRY_MS = 10_000;

/**
 * Repeats an action until it takes effect, and names it when it never does: the navigation of one payload may interrupt the
 * next page, and a late connection serves the next preconnect.
 */
async function insist(name: string, provoke: () => Promise<void>): Promise<void> {
  for (let tries = 0; tries < TRIES; tries++) {
    const isLate = once(AbortSignal.timeout(TRY_MS), 'abort').then(() => true);
    if (!(await Promise.race([provoke(), isLate]))) return;
  }
  expect.unreachable(`${name} did nothing, ${TRIES} times`);
}

/** Some payloads leave the page before it is there. */
const open = (page: Page, url: string): Promise<unknown> =>
  page.goto(url, { waitUntil: 'commit' }).catch(() => undefined);
