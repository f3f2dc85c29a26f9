// a link in a mail --> the preference pages, as a person with a keyboard, a telephone or a screen reader meets them
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { confirmationUrl, signUpUrl } from '../../src/features/audience/contacts/preference-links.ts';
import { describePeers } from '../peers/peers.ts';
import { linksTo } from '../rig/preference-pages.ts';
import { startScene, type Scene, type Team } from '../rig/scene.ts';
import { startChromium, type Chromium } from './chromium.ts';
import { faultsInEveryView, violations } from './page-faults.ts';
import { servePlain } from './serve-plain.ts';

/** Pictures of every page stay there after the run, to be looked at. */
const PICTURES = path.resolve(import.meta.dirname, '../../.cache/preference-pages');

const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

describePeers('the preference pages in a real browser', ['chromium'], () => {
  let scene: Scene;
  let browser: Chromium;
  let team: Team;
  let people = 0;
  beforeAll(async () => {
    mkdirSync(PICTURES, { recursive: true });
    scene = await startScene({ roles: ['http'] });
    browser = await startChromium({ evilHost: 'outside.example', outsidePort: 1 });
    team = await scene.team();
    const postal_address = {
      line1: '1 Main Street',
      city: 'Springfield',
      state: 'IL',
      postal_code: '62701',
      country: 'US',
    };
    await call('PATCH', '/team', { sender_name: 'Acme Widgets', postal_address });
  });
  afterAll(async () => {
    await browser.close();
    await scene.close();
  });

  const call = (method: string, target: string, body?: unknown) =>
    scene.api(method, target, { key: team.key, ...(body === undefined ? {} : { body }) });

  /** A new contact and its links, in mail about a topic that it gets. */
  async function reader() {
    const email = `reader${++people}@example.org`;
    const { id } = (await call('POST', '/contacts', { email })).body;
    const more = { visibility: 'public', description: `What is new this week, number ${people}` };
    const make = async (name: string, default_subscription: string): Promise<string> =>
      (await call('POST', '/topics', { name: `${name} ${people}`, default_subscription, ...more })).body.id;
    const news = await make('News', 'opt_in');
    const offers = await make('Offers', 'opt_out');
    const links = await linksTo(scene, team, { id, email }, { topicId: news });
    const contact = { id, team_id: team.id, email_key: email };
    const confirm = confirmationUrl(scene.app.world, scene.url, { contact, topicId: offers });
    const subscription = async (topicId: string): Promise<string> => {
      const { data } = (await call('GET', `/contacts/${id}/topics?limit=100`)).body;
      return data.find((one: { id: string }) => one.id === topicId).subscription;
    };
    const isOut = async (): Promise<boolean> => (await call('GET', `/contacts/${id}`)).body.unsubscribed;
    return { id, news, offers, confirm, subscription, isOut, ...links };
  }

  /** Uploads a picture of one pixel, and returns its address. */
  async function uploadLogo(): Promise<string> {
    const answer = await fetch(`${scene.url}/images`, {
      method: 'POST',
      headers: { authorization: `Bearer ${team.key}`, 'content-type': 'image/png', 'user-agent': 'test' },
      body: Buffer.from(PIXEL, 'base64'),
    });
    return ((await answer.json()) as { url: string }).url;
  }

  /** A tab that asks nobody but us for anything, and runs nothing. */
  async function withPage(work: (page: Page) => Promise<void>): Promise<void> {
    const page = await browser.context.newPage();
    // A tab behind another draws nothing, and cannot be pictured.
    await page.bringToFront();
    const strays: string[] = [];
    page.on('request', (request) => {
      if (!request.url().startsWith(`${scene.url}/`)) strays.push(request.url());
    });
    page.on(
      'console',
      (message) => void (/content security policy/i.test(message.text()) && strays.push(message.text())),
    );
    await work(page);
    expect(strays).toEqual([]);
    await page.close();
  }

  /** Goes from one thing to the next as far as the one with this name, as far as a page is long. */
  async function tabTo(page: Page, name: string): Promise<void> {
    for (let step = 0; step < 30; step++) {
      await page.keyboard.press('Tab');
      const focused = page.locator(':focus');
      const said = (await focused.count()) === 0 ? '' : await focused.ariaSnapshot();
      if (said.includes(JSON.stringify(name))) return;
    }
    throw new Error(`the keyboard does not reach ${name}: ${await page.locator('body').ariaSnapshot()}`);
  }

  async function pressByKeyboard(page: Page, name: string): Promise<void> {
    await tabTo(page, name);
    await Promise.all([page.waitForNavigation(), page.keyboard.press('Enter')]);
  }

  it('support unsubscribing, subscribing again, choosing topics and leaving all by keyboard alone', async () => {
    const { unsubscribe, news, offers, subscription, isOut } = await reader();
    await withPage(async (page) => {
      await page.goto(unsubscribe);
      await pressByKeyboard(page, 'Unsubscribe');
      expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe('You are unsubscribed');
      expect(await subscription(news)).toBe('opt_out');
      await pressByKeyboard(page, 'Subscribe again');
      expect(await subscription(news)).toBe('opt_in');
      await pressByKeyboard(page, 'Manage your email preferences, or unsubscribe from everything');
      await tabTo(page, `Offers ${people}`);
      await page.keyboard.press('Space');
      await pressByKeyboard(page, 'Save');
      expect(await page.getByRole('status').textContent()).toBe('Your preferences were saved.');
      expect([await subscription(news), await subscription(offers)]).toEqual(['opt_in', 'opt_in']);
      await pressByKeyboard(page, 'Unsubscribe from everything');
      expect(await isOut()).toBe(true);
      await pressByKeyboard(page, 'Subscribe again');
      expect(await isOut()).toBe(false);
    });
  });

  it('support confirming by keyboard alone', async () => {
    const { confirm, offers, subscription } = await reader();
    await withPage(async (page) => {
      await page.goto(confirm);
      expect(await subscription(offers)).toBe('opt_out');
      await pressByKeyboard(page, 'Confirm subscription');
      expect(await subscription(offers)).toBe('opt_in');
    });
  });

  it('change nothing for a scanner that follows every link and every link on those pages', async () => {
    const { id, unsubscribe, preferences, confirm } = await reader();
    await withPage(async (page) => {
      for (const address of [unsubscribe, preferences, confirm]) {
        await page.goto(address);
        const behind = await page.locator('a').all();
        const links = await Promise.all(behind.map((link) => link.getAttribute('href')));
        for (const link of links) await page.goto(new URL(link ?? '', scene.url).href);
      }
    });
    expect((await call('GET', `/contacts/${id}/activity?kind=consent`)).body.data).toEqual([]);
  });

  /** Every page there is, each in a state that a reader meets. */
  async function pages(): Promise<[name: string, open: (page: Page) => Promise<unknown>][]> {
    const stays = await reader();
    const leaves = await reader();
    const confirms = await reader();
    const gone = await reader();
    await call('DELETE', `/contacts/${gone.id}`);
    const pressing = (address: string, name: string) => async (page: Page) => {
      await page.goto(address);
      await Promise.all([page.waitForNavigation(), page.getByRole('button', { name, exact: true }).click()]);
    };
    return [
      ['unsubscribe', (page) => page.goto(stays.unsubscribe)],
      ['unsubscribed', pressing(leaves.unsubscribe, 'Unsubscribe')],
      ['preferences', (page) => page.goto(stays.preferences)],
      ['saved', pressing(stays.preferences, 'Save')],
      ['left-everything', pressing(leaves.preferences, 'Unsubscribe from everything')],
      ['confirm', (page) => page.goto(stays.confirm)],
      ['confirmed', pressing(confirms.confirm, 'Confirm subscription')],
      ['not-on-the-list', (page) => page.goto(gone.unsubscribe)],
      ['no-link', (page) => page.goto(`${scene.url}/unsubscribe/x`)],
    ];
  }

  it('have no axe violations and cut nothing off, in light desktop and dark phone views', async () => {
    const found: string[] = [];
    const all = await pages();
    await withPage(async (page) => {
      for (const [name, open] of all) {
        await open(page);
        found.push(...(await faultsInEveryView(page, { name, pictures: PICTURES })));
      }
    });
    expect(found).toEqual([]);
  });

  it('have no axe violations and cut nothing off in the language of the contact', async () => {
    await call('POST', '/contact-properties', { key: 'language', type: 'string' });
    const found: string[] = [];
    for (const language of ['de', 'pl', 'ja']) {
      const { id, unsubscribe, preferences, confirm } = await reader();
      await call('PATCH', `/contacts/${id}`, { properties: { language } });
      await withPage(async (page) => {
        for (const [name, address] of Object.entries({ unsubscribe, preferences, confirm })) {
          await page.goto(address);
          expect(await page.locator('html').getAttribute('lang')).toBe(language);
          found.push(...(await faultsInEveryView(page, { name: `${name}-${language}`, pictures: PICTURES })));
        }
      });
    }
    expect(found).toEqual([]);
  });

  it('let a person sign up with a form and confirm by keyboard, without a script and without axe violations', async () => {
    await team.domain('forms.example.com');
    const topic_id = (await call('POST', '/topics', { name: 'Weekly', default_subscription: 'opt_out' })).body.id;
    const body = { name: 'F', topic_id, from: 'news@forms.example.com' };
    const { id } = (await call('POST', '/forms', body)).body;
    const found: string[] = [];
    const look = async (page: Page, name: string) =>
      found.push(...(await faultsInEveryView(page, { name: `sign-up-${name}`, pictures: PICTURES })));
    await withPage(async (page) => {
      await page.goto(`${scene.url}/subscribe/${id}`);
      await look(page, 'form');
      expect(await page.getByLabel('Leave this field empty').isVisible()).toBe(false);
      await tabTo(page, 'Email address');
      await page.keyboard.type('me@x.y@z');
      await page.evaluate(`document.querySelector('form').noValidate = true`);
      await pressByKeyboard(page, 'Subscribe');
      await look(page, 'bad-address');
      await page.getByLabel('Email address').fill('me@example.org');
      await pressByKeyboard(page, 'Subscribe');
      expect(await page.getByRole('status').textContent()).toContain('me@example.org');
      await look(page, 'pending');
      const signUp = { id: scene.app.world.ids.uuid(), team_id: team.id, email_key: 'me@example.org' };
      await page.goto(signUpUrl(scene.app.world, scene.url, { contact: signUp, formId: id }));
      await look(page, 'confirm');
      await pressByKeyboard(page, 'Confirm subscription');
      expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe('You are subscribed to Weekly');
      await call('PATCH', `/forms/${id}`, { enabled: false });
      await page.goto(`${scene.url}/subscribe/${id}`);
      await look(page, 'closed');
    });
    expect((await call('GET', '/contacts/me@example.org')).status).toBe(200);
    expect(found).toEqual([]);
  });

  async function createForm(fields: object): Promise<string> {
    const name = `forms${++people}.example.com`;
    await team.domain(name);
    const topic = { name: `Weekly ${people}`, default_subscription: 'opt_out' };
    const topic_id = (await call('POST', '/topics', topic)).body.id;
    return (await call('POST', '/forms', { name: 'F', topic_id, from: `news@${name}`, ...fields })).body.id;
  }

  it('solve the challenge of a form by a script of the page, by keyboard and without axe violations', async () => {
    const id = await createForm({ proof_of_work: true });
    const found: string[] = [];
    const look = async (page: Page, name: string) =>
      found.push(...(await faultsInEveryView(page, { name: `proof-${name}`, pictures: PICTURES })));
    await withPage(async (page) => {
      await page.goto(`${scene.url}/subscribe/${id}`);
      await look(page, 'form');
      await tabTo(page, 'Email address');
      await page.keyboard.type('me@example.org');
      await pressByKeyboard(page, 'Subscribe');
      expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe('Check your inbox');
      await page.goBack();
      await page.getByLabel('Email address').fill('other@example.org');
      await pressByKeyboard(page, 'Subscribe');
      expect(await page.getByRole('status').textContent(), 'a second challenge').toContain('other@example.org');
    });
    expect(found).toEqual([]);
  });

  it('say that a form needs scripts if they are disabled, and show the address again', async () => {
    const id = await createForm({ proof_of_work: true });
    const found: string[] = [];
    await withPage(async (page) => {
      const session = await page.context().newCDPSession(page);
      await session.send('Emulation.setScriptExecutionDisabled', { value: true });
      await page.goto(`${scene.url}/subscribe/${id}`);
      const notice = page.locator('noscript p');
      expect(await notice.isVisible()).toBe(true);
      expect(await notice.textContent()).toContain('This form needs scripts.');
      await page.getByLabel('Email address').fill('me@example.org');
      await Promise.all([page.waitForURL(/subscribe/), page.getByRole('button', { name: 'Subscribe' }).click()]);
      await page.getByRole('alert').waitFor();
      expect(await page.getByRole('alert').textContent()).toContain('Enable scripts, and send the form again.');
      expect(await page.getByLabel('Email address').inputValue()).toBe('me@example.org');
      await session.send('Emulation.setScriptExecutionDisabled', { value: false });
      found.push(...(await faultsInEveryView(page, { name: 'proof-refused', pictures: PICTURES })));
    });
    expect(found).toEqual([]);
  });

  it('accept the snippet of a form from a page of another site, which needs no other script', async () => {
    const id = await createForm({ proof_of_work: true });
    const { html } = (await call('GET', `/forms/${id}/snippet`)).body;
    const site = await servePlain([`<!doctype html><html lang="en"><title>Shop</title><main>${html}</main></html>`]);
    const page = await browser.context.newPage();
    const asked: string[] = [];
    page.on('request', (request) => asked.push(`${request.method()} ${request.url()}`));
    try {
      await page.bringToFront();
      await page.goto(`${site.url}/0`);
      await page.getByLabel('Email address').fill('me@example.org');
      await page.getByRole('button', { name: 'Subscribe' }).click();
      await page.getByText('The form could not be sent. Try again in a minute.').waitFor();
      await call('PATCH', `/forms/${id}`, { allowed_origins: [site.url] });
      await page.getByRole('button', { name: 'Subscribe' }).click();
      await page.getByRole('heading', { name: 'Check your inbox' }).waitFor();
      const target = `${scene.url}/subscribe/${id}`;
      const expected = [`GET ${site.url}/0`, `GET ${target}/challenge`, `GET ${target}/challenge`, `POST ${target}`];
      expect(asked.filter((one) => !one.endsWith('/favicon.ico'))).toEqual(expected);
      await call('PATCH', `/forms/${id}`, { proof_of_work: false });
      await page.goto(`${site.url}/0`);
      await page.getByLabel('Email address').fill('other@example.org');
      await page.getByRole('button', { name: 'Subscribe' }).click();
      await page.getByRole('heading', { name: 'Check your inbox' }).waitFor();
    } finally {
      await page.close();
      site.close();
    }
  });

  it('have no axe violations with the logo, the words and any color of the team', async () => {
    const logo = await uploadLogo();
    const words = {
      page_headline: 'Acme Weekly',
      page_intro: 'Choose what you like.',
      page_goodbye: 'Come back soon.',
    };
    const found: string[] = [];
    try {
      for (const accent_color of ['#ffee00', '#101010', '#c2185b']) {
        await call('PATCH', '/team', { logo_url: logo, accent_color, ...words });
        const { unsubscribe, preferences } = await reader();
        await withPage(async (page) => {
          await page.goto(preferences);
          found.push(...(await faultsInEveryView(page, { name: `look-${accent_color.slice(1)}`, pictures: PICTURES })));
          expect(await page.evaluate(`document.querySelector('img').naturalWidth`)).toBe(1);
          await page.goto(unsubscribe);
          await pressByKeyboard(page, 'Unsubscribe');
          expect(await page.getByText('Come back soon.').count()).toBe(1);
          found.push(...(await faultsInEveryView(page, { name: `bye-${accent_color.slice(1)}`, pictures: PICTURES })));
        });
      }
    } finally {
      await call('PATCH', '/team', { logo_url: null, accent_color: null });
    }
    expect(found).toEqual([]);
  });

  it('are checked by an axe that reports planted violations', async () => {
    await withPage(async (page) => {
      await page.goto((await reader()).preferences);
      await page.evaluate(`document.querySelector('label').remove(); document.documentElement.removeAttribute('lang')`);
      expect((await violations(page)).map(({ id }) => id)).toEqual(expect.arrayContaining(['html-has-lang', 'label']));
    });
  });
});
