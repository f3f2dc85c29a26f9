// Apps as others have written them send a person's browser here: they sign in, let the app in, use it and end it.
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Page } from 'playwright-core';
import { WWWAuthenticateChallengeError } from 'oauth4webapi';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { describePeers } from '../peers/peers.ts';
import { oauth4webapiAt, SIGNING_IN, type Place } from '../rig/app-clients.ts';
import { createAccount, PASSWORD } from '../rig/page-people.ts';
import { startScene, type Scene, type Team } from '../rig/scene.ts';
import { painted, startChromium, type Chromium } from './chromium.ts';

describePeers('an app that signs in with a real browser', ['chromium'], () => {
  let scene: Scene;
  let team: Team;
  let browser: Chromium;
  let page: Page;
  let listener: http.Server;
  let place: Place;
  beforeAll(async () => {
    // Plain HTTP stands in for what is https outside.
    scene = await startScene({ roles: ['http'], config: { sessions: { secure_cookie: false } } });
    team = await scene.team();
    // An app on the person's own machine waits here for its browser to come back.
    listener = http.createServer((_, response) => response.end('You may close this page.'));
    await new Promise<void>((done) => void listener.listen(0, '127.0.0.1', done));
    const { port } = listener.address() as AddressInfo;
    browser = await startChromium({ evilHost: 'outside.example', outsidePort: port });
    const { email } = await createAccount(scene, { team });
    const redirectUri = `http://127.0.0.1:${port}/callback`;
    place = { origin: scene.app.world.origin(), redirectUri, browse: (asked) => letIn(asked, email) };
  });
  beforeEach(async () => {
    await page?.close();
    await browser.context.clearCookies();
    page = await browser.context.newPage();
  });
  afterAll(async () => {
    await browser.close();
    listener.closeAllConnections();
    await new Promise((done) => listener.close(done));
    await scene.close();
  });

  /** Nobody is signed in yet: the page of the app is shown after that. */
  async function letIn(asked: URL, email: string): Promise<URL> {
    await page.goto(asked.href);
    await page.getByLabel('Email').fill(email);
    await page.getByLabel('Password').fill(PASSWORD);
    await Promise.all([
      page.waitForURL((url) => url.pathname === '/oauth/consent'),
      page.getByRole('button', { name: 'Sign in', exact: true }).click(),
    ]);
    await painted(page);
    expect(await page.locator('h1').textContent()).toMatch(/^Authorize /);
    await Promise.all([
      page.waitForURL((url) => url.pathname === '/callback'),
      page.getByRole('button', { name: 'Authorize', exact: true }).click(),
    ]);
    return new URL(page.url());
  }

  /** Every app that the person has let in. */
  async function endIt(): Promise<void> {
    await page.goto(`${place.origin}/account/apps`);
    await painted(page);
    await page
      .getByRole('button', { name: /^Revoke access of An editor/ })
      .first()
      .click();
    await page.getByRole('status').filter({ hasText: 'The access of the app was revoked.' }).waitFor();
  }

  it.each(Object.entries(SIGNING_IN))(
    'reaches its tools as the MCP client of %s, and signs out again',
    async (revision, signIn) => {
      await using client = await signIn(place);
      expect(client.revision).toBe(revision);
      expect((await client.tools()).map(({ name }) => name)).toContain('sendEmail');
      expect((await client.call('getTeam')).value()).toMatchObject({ id: team.id });
      await endIt();
      await expect(client.call('getTeam')).rejects.toThrow('Unauthorized');
    },
  );

  it('reaches the API with oauth4webapi, and revokes its access', async () => {
    const client = await oauth4webapiAt(place, { path: '', scope: 'team:read' });
    const token = client.tokens.access_token;
    expect(((await (await client.get('/team', token)).json()) as { id: string }).id).toBe(team.id);
    await client.revoke(client.tokens.refresh_token ?? '');
    await expect(client.get('/team', token)).rejects.toBeInstanceOf(WWWAuthenticateChallengeError);
  });
});
