import { expect, it } from 'vitest';
import { describePeers } from '../peers/peers.ts';
import { startScene } from '../rig/scene.ts';
import { startChromium } from './chromium.ts';
import { startOutside } from './outside.ts';

const TIMEOUT = { timeout: 60_000 };

describePeers('the API reference in a real browser', ['chromium'], () => {
  it('can be searched and tried out, and sends requests only to the server', async () => {
    await using scene = await startScene({ roles: ['http'] });
    const { key } = await scene.team();
    const outside = await startOutside();
    const browser = await startChromium({ evilHost: 'evil.example', outsidePort: outside.port });
    try {
      const page = await browser.context.newPage();
      const asked: string[] = [];
      const complaints: string[] = [];
      page.on('request', (request) => asked.push(request.url()));
      page.on('pageerror', (error) => complaints.push(error.message));
      page.on('console', (message) => {
        if (message.type() === 'error') complaints.push(message.text());
      });
      await page.goto(`${scene.url}/docs`);
      await page.getByRole('heading', { name: 'Rasket', exact: true }).waitFor(TIMEOUT);

      await page
        .getByRole('button', { name: /search/i })
        .first()
        .click();
      await page.keyboard.type('List suppressions');
      await page.getByRole('option', { name: /List suppressed addresses/ }).click(TIMEOUT);
      const section = page.locator('section', { has: page.getByRole('heading', { name: /^List suppress/ }) }).last();
      await section.waitFor(TIMEOUT);
      await section.getByText('curl', { exact: false }).first().waitFor(TIMEOUT);

      await page.getByPlaceholder('Token').first().fill(key);
      await section.getByRole('button', { name: /test request/i }).click();
      const answered = page.waitForResponse((response) => response.url().includes('/suppressions'), TIMEOUT);
      await page
        .getByRole('button', { name: /^send\b/i })
        .last()
        .click();
      expect((await answered).status()).toBe(200);

      const others = asked.filter((url) => !url.startsWith(`${scene.url}/`) && !/^(?:data|blob):/.test(url));
      expect({ others, complaints }).toEqual({ others: [], complaints: [] });
    } finally {
      await browser.close();
      await outside.close();
    }
  });
});
