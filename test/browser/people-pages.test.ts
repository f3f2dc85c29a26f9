// signing in, resetting a password and the account, as a person with a keyboard, a telephone or a screen reader meets them
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { makePasswordReset } from '../../src/features/identity/accounts/passwords.ts';
import { describePeers } from '../peers/peers.ts';
import { createAccount, codeFor, joinTeam, PASSWORD } from '../rig/page-people.ts';
import { readQrCode } from '../rig/qr-code.ts';
import { startScene, type Scene } from '../rig/scene.ts';
import { painted, startChromium, type Chromium } from './chromium.ts';
import { faultsInEveryView } from './page-faults.ts';

/** Pictures of every page stay there after the run, to be looked at. */
const PICTURES = path.resolve(import.meta.dirname, '../../.cache/people-pages');

describePeers('the account pages in a real browser', ['chromium'], () => {
  let scene: Scene;
  let browser: Chromium;
  beforeAll(async () => {
    mkdirSync(PICTURES, { recursive: true });
    // Plain HTTP stands in for what is https outside.
    const config = { sessions: { secure_cookie: false }, accounts: { sign_up: 'open' as const } };
    scene = await startScene({ roles: ['http'], config });
    browser = await startChromium({ evilHost: 'outside.example', outsidePort: 1 });
  });
  afterAll(async () => {
    await browser.close();
    await scene.close();
  });

  /** A tab that asks nobody but us for anything, and runs nothing. */
  async function withPage(work: (page: Page) => Promise<void>): Promise<void> {
    await browser.context.clearCookies();
    const page = await browser.context.newPage();
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

  const heading = (page: Page) => page.getByRole('heading', { level: 1 }).textContent();
  const open = (page: Page, target: string) => page.goto(`${scene.url}${target}`);
  async function openPainted(page: Page, target: string): Promise<void> {
    await open(page, target);
    await painted(page);
  }
  async function enter(page: Page): Promise<void> {
    await Promise.all([page.waitForNavigation(), page.keyboard.press('Enter')]);
    await painted(page);
  }

  it('support signing in by keyboard alone past a mistake, and focus the faulty field', async () => {
    const { email } = await createAccount(scene, { team: await scene.team() });
    await withPage(async (page) => {
      await openPainted(page, '/sign-in');
      await page.keyboard.type(email);
      await page.keyboard.press('Tab');
      await page.keyboard.type('not this one');
      await enter(page);
      expect(await page.title()).toBe('Error: Sign in – rasket');
      expect(await page.getByRole('alert').textContent()).toBe('The email or the password is wrong.');
      expect(await page.locator(':focus').getAttribute('name')).toBe('password');
      await page.keyboard.type(PASSWORD);
      await enter(page);
      expect(await heading(page)).toBe('Your account');
    });
  });

  it('support a password reset by keyboard alone, and remove the token from the address bar', async () => {
    const { email } = await createAccount(scene);
    const { token } = await makePasswordReset(scene.app.world, email);
    await withPage(async (page) => {
      await openPainted(page, `/reset-password?token=${token}`);
      expect(page.url()).toBe(`${scene.url}/reset-password`);
      await page.keyboard.type('x');
      await enter(page);
      expect(await page.locator(':focus').getAttribute('aria-invalid')).toBe('true');
      await page.keyboard.type('a new password');
      await enter(page);
      expect(await page.getByRole('status').textContent()).toContain('Your password was changed');
      await page.keyboard.type(email);
      await page.keyboard.press('Tab');
      await page.keyboard.type('a new password');
      await enter(page);
      expect(await heading(page)).toBe('Your account');
    });
  });

  type Look = [name: string, look: (page: Page) => Promise<unknown>, also?: (page: Page) => Promise<void>];
  const press = (page: Page, name: string) =>
    Promise.all([page.waitForNavigation(), page.getByRole('button', { name, exact: true }).first().click()]);

  async function signIn(page: Page, email: string): Promise<void> {
    await open(page, '/sign-in');
    await page.getByLabel('Email').fill(email);
    await page.getByLabel('Password').fill(PASSWORD);
    await press(page, 'Sign in');
  }

  const outside: Look[] = [
    ['sign-in', (page) => open(page, '/sign-in?said=signed-out')],
    [
      'sign-in-fault',
      async (page) => {
        await open(page, '/sign-in');
        await page.getByLabel('Email').fill('nobody@people.example');
        await page.getByLabel('Password').fill('x');
        await press(page, 'Sign in');
      },
    ],
    ['sign-up', (page) => open(page, '/sign-up')],
    [
      'sign-up-fault',
      async (page) => {
        await open(page, '/sign-up');
        await page.getByLabel('Email').fill('ada@people.example');
        await page.getByLabel('New password').fill('x');
        await press(page, 'Create account');
      },
    ],
    ['mailed', (page) => open(page, '/forgot-password?said=mailed')],
    ['verify-email', (page) => open(page, '/verify-email?token=rv_x')],
    ['forgot-password', (page) => open(page, '/forgot-password')],
    ['reset-password', (page) => open(page, '/reset-password?token=rp_x')],
    ['dead-link', (page) => open(page, '/invitation?token=ri_x')],
    ['not-here', (page) => open(page, '/sign-in/nowhere')],
  ];

  const inside: Look[] = [
    ['account', (page) => open(page, '/account?said=joined')],
    ['password', (page) => open(page, '/account/password')],
    ['sessions', (page) => open(page, '/account/sessions')],
    ['apps', (page) => open(page, '/account/apps')],
    ['mfa-off', (page) => open(page, '/account/mfa')],
    [
      'mfa-set-up',
      async (page) => {
        await open(page, '/account/mfa');
        await press(page, 'Set up an authenticator app');
      },
      async (page) => {
        const link = await page.getByRole('link', { name: 'Open in an authenticator app' }).getAttribute('href');
        expect(await seenByCamera(page)).toBe(link);
      },
    ],
    ['sign-out', (page) => open(page, '/sign-out')],
  ];

  /** Returns what a phone reads from the picture of the screen. */
  async function seenByCamera(page: Page): Promise<string | null> {
    const png = await page.getByRole('img', { name: /^QR code/ }).screenshot();
    const camera = await browser.context.newPage();
    const picture = `data:image/png;base64,${png.toString('base64')}`;
    const { data, width, height } = (await camera.evaluate(`(async () => {
      const image = new Image();
      image.src = ${JSON.stringify(picture)};
      await image.decode();
      const canvas = new OffscreenCanvas(image.width, image.height).getContext('2d');
      canvas.drawImage(image, 0, 0);
      const { data, width, height } = canvas.getImageData(0, 0, image.width, image.height);
      return { data: [...data], width, height };
    })()`)) as { data: number[]; width: number; height: number };
    await camera.close();
    return readQrCode({ data: Uint8ClampedArray.from(data), width, height });
  }

  async function lookAt(page: Page, looks: readonly Look[]): Promise<string[]> {
    const found: string[] = [];
    for (const [name, look, also] of looks) {
      await look(page);
      found.push(...(await faultsInEveryView(page, { name, pictures: PICTURES, also: () => also?.(page) })));
    }
    return found;
  }

  it('have no axe violations and cut nothing off, in light desktop and dark phone views', async () => {
    const account = await createAccount(scene, { team: await scene.team() });
    await joinTeam(scene, await scene.team('A second team with a name that is rather long'), account.id, 'viewer');
    await withPage(async (page) => {
      expect(await lookAt(page, outside)).toEqual([]);
      await signIn(page, account.email);
      expect(await lookAt(page, inside)).toEqual([]);
      await open(page, '/account/mfa');
      await press(page, 'Set up an authenticator app');
      const key = (await page.locator('code').textContent()) ?? '';
      await page.getByRole('textbox', { name: 'Code' }).fill(codeFor(scene, key));
      await page.getByLabel('Your password').fill(PASSWORD);
      await press(page, 'Turn on');
      expect(await lookAt(page, [['recovery-codes', async () => undefined]])).toEqual([]);
      expect(await lookAt(page, [['mfa-on', () => open(page, '/account/mfa')]])).toEqual([]);
      await browser.context.clearCookies();
      await signIn(page, account.email);
      expect(
        await lookAt(page, [
          ['code', async () => undefined],
          ['recovery-code', () => open(page, '/sign-in/recovery-code')],
        ]),
      ).toEqual([]);
    });
  });
});
