// the names that certificates are ordered for, and how these are validated
import http from 'node:http';
import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { switchOffRestored } from '../../../src/tenancy/instance/index.ts';
import { lookElsewhere, startWithAuthority, trackedDomain } from './authority-scene.ts';

function get(port: number, target: string, headers: Record<string, string> = {}, method = 'GET') {
  return new Promise<{ status: number; location: string | undefined; body: string }>((resolve, reject) => {
    const request = http.request(
      { host: '127.0.0.1', port, path: target, method, headers, agent: false },
      (response) => {
        const { statusCode: status = 0, headers: got } = response;
        text(response).then((body) => resolve({ status, location: got.location, body }), reject);
      },
    );
    request.on('error', reject).end();
  });
}

it('a tracking host gets its own certificate once it points here, selected by name, and unknown names cause no order', async () => {
  await using at = await startWithAuthority({ names: ['api.rasket.test'] });
  const { ca, scene } = at;
  const host = await trackedDomain(at, 'shop.example');
  await at.look();
  expect(ca.ordered).toEqual(['api.rasket.test rasket.test', host]);
  const own = await at.shown();
  const api = await at.shown('api.rasket.test');
  const tracking = await at.shown(host);
  expect([own.isTrusted, api.isTrusted, tracking.isTrusted]).toEqual([true, true, true]);
  expect(api.serial).toBe(own.serial);
  expect(tracking.serial).not.toBe(own.serial);
  for (let count = 0; count < 40; count++) expect((await at.shown(`n${count}.example`)).serial).toBe(own.serial);
  await at.look();
  expect(ca.ordered).toHaveLength(2);

  scene.dns.set(host, 'CNAME', ['elsewhere.example']);
  await at.renew({ name: host });
  scene.clock.advance(600_000);
  await at.look();
  const moved = (await at.listed()).find(({ name }) => name === host);
  expect(moved).toMatchObject({ status: 'failing', last_error: expect.stringMatching(/does not lead to/) });
  expect(ca.ordered).toHaveLength(2);
  expect((await at.shown(host)).serial).toBe(tracking.serial);
});

it('a restored copy orders no certificate, because the names point to the original', async () => {
  await using at = await startWithAuthority();
  const { ca, scene } = at;
  const { clock, db } = scene.app.world;
  await db.tx((tx) => switchOffRestored(tx, { madeAt: undefined, at: clock.now() }));
  await at.look();
  expect([ca.ordered, await at.listed()]).toEqual([[], []]);
});

it('certificate orders are limited per hour, with our own names first', async () => {
  await using at = await startWithAuthority({ orders_per_hour: 2 });
  const { ca, scene } = at;
  for (const name of ['a.example', 'b.example', 'c.example']) await trackedDomain(at, name);
  await at.look();
  await at.look();
  expect(ca.ordered).toHaveLength(2);
  expect(ca.ordered[0]).toBe('rasket.test');
  expect(await at.listed()).toMatchObject([
    { status: 'issued' },
    { last_error: null },
    { last_error: null },
    { last_error: null },
  ]);
  scene.clock.advance(3_600_000);
  await at.look();
  expect(ca.ordered).toHaveLength(4);
});

it('names added to the settings are ordered at once, and names no longer wanted are not ordered again', async () => {
  await using at = await startWithAuthority({ orders_per_hour: 1 });
  const { ca, scene } = at;
  const { config } = scene.app.world;
  const host = await trackedDomain(at, 'gone.example');
  await at.look();
  expect((await at.listed()).map(({ name, status }) => [name, status])).toEqual([
    ['rasket.test', 'issued'],
    [host, 'awaited'],
  ]);
  scene.clock.advance(3_600_000);
  const acme = { ...config.acme, names: ['also.rasket.test'], tracking_hosts: false };
  await lookElsewhere(scene, { trustedCa: ca.trust, clock: scene.clock, config: { ...config, acme } });
  expect(ca.ordered).toEqual(['rasket.test', 'also.rasket.test rasket.test']);
  expect(await at.listed()).toMatchObject([{ names: ['also.rasket.test', 'rasket.test'], status: 'issued' }]);
  scene.clock.advance(10_000);
  await expect.poll(async () => (await at.shown('also.rasket.test')).isTrusted).toBe(true);
});

it('names are validated at the TLS port if configured, alongside the pages it serves', async () => {
  await using at = await startWithAuthority({ challenge: 'tls-alpn-01' });
  const before = await at.shown();
  await at.look();
  expect(at.ca.violations).toEqual([]);
  expect(await at.listed()).toMatchObject([{ status: 'issued', last_error: null }]);
  expect([before.isTrusted, (await at.shown()).isTrusted]).toEqual([false, true]);
});

it('the challenge path serves only tokens of orders, and the redirect port leads everything else to https', async () => {
  await using at = await startWithAuthority();
  const { scene } = at;
  const [redirect = 0] = scene.app.http?.redirectPorts ?? [];
  const [secure = 0] = scene.app.http?.securePorts ?? [];
  const main = scene.app.http?.port ?? 0;
  const folder = '/.well-known/acme-challenge/';
  for (const port of [main, redirect]) {
    for (const tail of [
      '',
      '..',
      '../../health',
      '%2e%2e%2fhealth',
      'a'.repeat(43),
      'a/b',
      `${'a'.repeat(30)}?x`,
      'x'.repeat(4000),
    ])
      expect([tail, (await get(port, folder + tail, { host: 'rasket.test' })).status]).toEqual([tail, 404]);
  }
  expect(await get(redirect, '/docs?a=1', { host: 'rasket.test:80' })).toMatchObject({
    status: 308,
    location: `https://rasket.test${secure === 443 ? '' : `:${scene.app.world.config.https.ports[0]}`}/docs?a=1`,
  });
  expect((await get(redirect, '/emails', { host: 'rasket.test' }, 'POST')).status).toBe(403);
  expect((await get(redirect, '/', { host: 'a b' })).status).toBe(403);
});
