// an app sends a browser --> the page of consent, and back to the app over the form's redirect, which browsers check
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import axe, { type AxeResults } from 'axe-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { SCOPE_NAMES } from '../../src/contract/index.ts';
import { describePeers } from '../peers/peers.ts';
import { newVerifier, createOauth } from '../rig/oauth.ts';
import { createPeople, type Person } from '../rig/people.ts';
import { startScene, type Scene } from '../rig/scene.ts';
import { startChromium, type Chromium } from './chromium.ts';

describePeers('the consent page in a real browser', ['chromium'], () => {
  let scene: Scene;
  let browser: Chromium;
  let app: http.Server;
  let port: number;
  let person: Person;
  beforeAll(async () => {
    scene = await startScene({ roles: ['http'] });
    app = http.createServer((request, response) => response.end(`got ${request.url}`));
    await new Promise<void>((done) => void app.listen(0, '127.0.0.1', done));
    ({ port } = app.address() as AddressInfo);
    browser = await startChromium({ evilHost: 'outside.example', outsidePort: port });
    person = await createPeople(scene).person({ team: await scene.team(), role: 'owner' });
    const [name = '', value = ''] = person.headers['cookie']?.split('=') ?? [];
    await browser.context.addCookies([{ name, value, url: scene.url, sameSite: 'Lax', httpOnly: true }]);
  });
  afterAll(async () => {
    await browser.close();
    app.closeAllConnections();
    await new Promise((done) => app.close(done));
    await scene.close();
  });

  it.each([
    ['Authorize', /^got \/callback\?code=rkc_/],
    ['Cancel', /^got \/callback\?error=access_denied/],
  ])('returns to the app by keyboard alone with “%s”', async (button, told) => {
    const oauth = createOauth(scene);
    const redirectUri = `http://127.0.0.1:${port}/callback`;
    const client = await oauth.register({ redirect_uris: [redirectUri] });
    const page = await browser.context.newPage();
    await page.goto(`${scene.url}/oauth/authorize?${oauth.queryOf(client, newVerifier())}`);
    expect(await page.locator('h1').textContent()).toBe('Authorize Newsletter Desk');
    await page.evaluate(axe.source);
    const { violations } = await page.evaluate<AxeResults>('axe.run()');
    expect(violations.map(({ id }) => id)).toEqual([]);
    await page.getByRole('button', { name: button, exact: true }).focus();
    await page.keyboard.press('Enter');
    await page.waitForURL((url) => url.pathname === '/callback');
    expect(await page.locator('body').textContent()).toMatch(told);
    await page.close();
  });

  it.each([
    ['a small phone', 360, 640],
    ['a phone in a dark room', 390, 844],
    ['a desktop', 1280, 720],
  ])('the consent page keeps both buttons in view on %s, without scrolling', async (place, width, height) => {
    const oauth = createOauth(scene);
    const redirectUri = `http://127.0.0.1:${port}/callback`;
    const client = await oauth.register({
      client_name: 'The assistant of an editor with a long name',
      redirect_uris: [redirectUri],
    });
    const page = await browser.context.newPage();
    await page.setViewportSize({ width, height });
    await page.emulateMedia({ colorScheme: place.includes('dark') ? 'dark' : 'light' });
    const scope = SCOPE_NAMES.join(' ');
    await page.goto(`${scene.url}/oauth/authorize?${oauth.queryOf(client, newVerifier(), { scope })}`);
    const findBottoms = () =>
      Promise.all(
        ['Authorize', 'Cancel'].map(async (name) => {
          const box = await page.getByRole('button', { name, exact: true }).boundingBox();
          return box ? [box.y, box.y + box.height] : [];
        }),
      );
    for (const [top = -1, bottom = Infinity] of await findBottoms()) {
      expect(top).toBeGreaterThanOrEqual(0);
      expect(bottom).toBeLessThanOrEqual(height);
    }
    expect(await page.evaluate<number>('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width);
    await page.evaluate(axe.source);
    const { violations } = await page.evaluate<AxeResults>('axe.run()');
    expect(violations.map(({ id }) => id)).toEqual([]);
    await page.getByLabel('Access expires').scrollIntoViewIfNeeded();
    for (const [top = -1, bottom = Infinity] of await findBottoms()) {
      expect(top).toBeGreaterThanOrEqual(0);
      expect(bottom).toBeLessThanOrEqual(height);
    }
    await page.close();
  });

  it('the consent page leaves out a permission that was unticked with the keyboard', async () => {
    const oauth = createOauth(scene);
    const redirectUri = `http://127.0.0.1:${port}/callback`;
    const client = await oauth.register({ redirect_uris: [redirectUri] });
    const page = await browser.context.newPage();
    const verifier = newVerifier();
    const query = oauth.queryOf(client, verifier, { scope: 'team:read emails:send' });
    await page.goto(`${scene.url}/oauth/authorize?${query}`);
    await page.getByRole('group', { name: 'Send' }).getByRole('checkbox').focus();
    await page.keyboard.press('Space');
    await page.getByRole('button', { name: 'Authorize', exact: true }).press('Enter');
    await page.waitForURL((url) => url.pathname === '/callback');
    const code = new URL(page.url()).searchParams.get('code') ?? '';
    expect((await oauth.exchange(client, code, verifier)).body.scope).toBe('team:read');
    await page.close();
  });

  it('is not shown in a frame of another site', async () => {
    const oauth = createOauth(scene);
    const client = await oauth.register();
    const page = await browser.context.newPage();
    const target = `${scene.url}/oauth/consent?${oauth.queryOf(client, newVerifier())}`;
    await page.goto('http://outside.example/');
    await page.setContent(`<iframe src="${target.replaceAll('&', '&amp;')}"></iframe>`);
    // The browser's own page stands in its place.
    await expect.poll(() => page.frames()[1]?.url()).toMatch(/^chrome-error:/);
    await page.close();
  });
});
