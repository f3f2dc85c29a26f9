// certificates from an authority: issued, renewed, and kept if that fails
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import net from 'node:net';
import path from 'node:path';
import tls from 'node:tls';
import { describe, expect, it } from 'vitest';
import { renewCertificates } from '../../../src/features/installation/certificate-renewal/renew-certificates.ts';
import { certificateById } from '../../../src/features/installation/certificates/certificates.store.ts';
import { makeCertificate } from '../../rig/tls.ts';
import { lookElsewhere, startWithAuthority, type AuthorityScene } from './authority-scene.ts';

const DAY_MS = 86_400_000;
const NAME = 'rasket.test';

/** Returns a dialogue of single lines over one connection that may stay open long. */
function talk(socket: net.Socket) {
  let text = '';
  socket.on('data', (bytes: Buffer) => (text += bytes.toString('latin1')));
  return {
    async say(line: string, until: RegExp): Promise<string> {
      text = '';
      if (line !== '') socket.write(line);
      await expect.poll(() => text).toMatch(until);
      return text;
    },
  };
}

async function heldOpen({ scene, ca }: AuthorityScene) {
  const secure = tls.connect({
    host: '127.0.0.1',
    port: scene.app.http?.securePorts[0] ?? 0,
    servername: NAME,
    ca: [...ca.trust],
    rejectUnauthorized: false,
  });
  await once(secure, 'secureConnect');
  const port = scene.app.smtp?.listening.find((each) => each.tls === 'implicit')?.port ?? 0;
  const mail = tls.connect({ host: '127.0.0.1', port, servername: NAME, rejectUnauthorized: false });
  const web = talk(secure);
  const smtp = talk(mail);
  await smtp.say('', /^220 /);
  // A client that has logged in may stay as long as it sends commands.
  await smtp.say('EHLO test\r\n', /250 [^\r]+\r\n$/);
  const password = Buffer.from(`\0rasket\0${(await scene.team()).key}`).toString('base64');
  await smtp.say(`AUTH PLAIN ${password}\r\n`, /^235 /);
  return {
    async bothAnswer() {
      const got = await web.say(`GET /health HTTP/1.1\r\nHost: ${NAME}\r\nUser-Agent: test\r\n\r\n`, /"status":"ok"/);
      expect(got).toMatch(/^HTTP\/1.1 200 /);
      expect(await smtp.say('NOOP\r\n', /\r\n/)).toMatch(/^250 /);
    },
    end() {
      secure.destroy();
      mail.destroy();
    },
  };
}

async function shownBySubmission({ scene, ca }: AuthorityScene): Promise<string> {
  const port = scene.app.smtp?.listening.find((each) => each.tls === 'starttls')?.port ?? 0;
  const plain = net.connect(port, '127.0.0.1');
  const smtp = talk(plain);
  await smtp.say('', /^220 /);
  await smtp.say('EHLO test\r\n', /250 [^\r]+\r\n$/);
  await smtp.say('STARTTLS\r\n', /^220 /);
  plain.removeAllListeners('data');
  const secure = tls.connect({ socket: plain, servername: NAME, ca: [...ca.trust] });
  await once(secure, 'secureConnect');
  const { serialNumber } = secure.getPeerCertificate();
  secure.destroy();
  return serialNumber;
}

it('a certificate is issued, renewed at two thirds of its life with the same key and kept if renewal fails, without dropping connections', async () => {
  await using at = await startWithAuthority();
  const { ca, scene } = at;
  expect((await at.shown()).isTrusted).toBe(false);
  const held = await heldOpen(at);
  await at.look();
  expect(ca.violations).toEqual([]);
  const first = await at.shown();
  expect(first.isTrusted).toBe(true);
  expect(await shownBySubmission(at)).toBe(first.serial);
  await held.bothAnswer();
  const [row] = await at.listed();
  expect(row).toMatchObject({ name: NAME, kind: 'host', names: [NAME], status: 'issued', last_error: null });
  const left = Date.parse(row?.next_try_at ?? '') - scene.clock.now();
  expect(left / DAY_MS).toBeGreaterThan(90 * (2 / 3 - 1 / 20) - 0.1);
  expect(left / DAY_MS).toBeLessThanOrEqual(60);

  await at.look();
  expect(ca.ordered).toEqual([NAME]);
  scene.clock.advance(left);
  ca.plays.issue = { days: 900 };
  await at.look();
  const second = await at.shown();
  expect(second).toMatchObject({ isTrusted: true, key: first.key });
  expect(second.serial).not.toBe(first.serial);
  expect(await shownBySubmission(at)).toBe(second.serial);
  await held.bothAnswer();

  ca.plays.instead = (_route, response) => {
    response.writeHead(500).end();
    return true;
  };
  await at.renew();
  await at.look();
  expect(await at.shown()).toEqual(second);
  await held.bothAnswer();
  const { body } = await scene.api('GET', '/operator/findings', { key: at.operator });
  expect(body.findings).toMatchObject([
    { code: 'certificate_not_issued', subjects: [NAME], summary: expect.stringMatching(/status 500.*Next try at/) },
  ]);
  ca.plays.instead = () => false;
  scene.clock.advance(5 * 60_000);
  await at.renew({ name: NAME, new_key: true });
  await at.look();
  const third = await at.shown();
  expect([third.isTrusted, third.key === first.key]).toEqual([true, false]);
  expect((await scene.api('GET', '/operator/findings', { key: at.operator })).body.findings).toEqual([]);
  await held.bothAnswer();
  held.end();
  expect([ca.accounts, ca.violations]).toEqual([1, []]);
});

describe('a misbehaving certificate authority', () => {
  const page = (response: ServerResponse, status: number, body: string, type = 'text/html'): true => {
    response.writeHead(status, { 'content-type': type, 'replay-nonce': 'aaaa' }).end(body);
    return true;
  };
  it('does not affect the served certificate, is reported in one line, and is retried at growing intervals', async () => {
    await using at = await startWithAuthority();
    const { ca, scene } = at;
    ca.plays.badNonces = 4;
    await at.look();
    const first = await at.shown();
    expect([first.isTrusted, ca.violations]).toEqual([true, []]);
    const normal = { ...ca.plays, badNonces: 0 };
    const problem = (type: string) => JSON.stringify({ type: `urn:ietf:params:acme:error:${type}`, detail: 'no more' });
    const plays: { play: Partial<typeof ca.plays>; says: RegExp }[] = [
      { play: { instead: (_, to) => page(to, 500, 'down') }, says: /^the directory: status 500 without a reason$/ },
      { play: { instead: (_, to) => page(to, 200, '<html>') }, says: /with text\/html, where JSON is the rule/ },
      {
        play: { instead: (_, to) => page(to, 200, 'x'.repeat(10_000_000), 'application/json') },
        says: /ca.test:\d+ answers more than/,
      },
      { play: { badNonces: Infinity }, says: /took none of 20 nonces/ },
      {
        play: {
          instead: (route, to) =>
            route === 'order' && page(to, 429, problem('rateLimited'), 'application/problem+json'),
        },
        says: /no more \(rateLimited\)/,
      },
      { play: { issue: { days: 90, otherKey: true } }, says: /another key than ours/ },
      { play: { issue: { days: 90, names: ['other.example'] } }, says: /is not for rasket.test/ },
      { play: { issue: { days: 90, names: ['*.test'] } }, says: /is not for rasket.test/ },
      { play: { issue: { days: -1 } }, says: /ended at|begins at/ },
      { play: { chain: () => makeCertificate({ names: [NAME] }).cert }, says: /another key than ours/ },
      {
        play: { chain: (chain) => chain.split(/(?<=-----END CERTIFICATE-----\n)/)[0] + makeCertificate().cert },
        says: /number 2 did not sign number 1/,
      },
      { play: { chain: () => 'x'.repeat(10_000_000) }, says: /answers more than/ },
    ];
    let waited = 0;
    for (const { play, says } of plays) {
      Object.assign(ca.plays, normal, play);
      await at.renew();
      const before = scene.clock.now();
      await at.look();
      const [row] = await at.listed();
      expect(row).toMatchObject({ status: 'failing', last_error: expect.stringMatching(says) });
      expect(row?.last_error).not.toMatch(/[\r\n]/);
      waited = Date.parse(row?.next_try_at ?? '') - before;
      expect(waited).toBeGreaterThanOrEqual(60_000);
      expect(await at.shown()).toEqual(first);
    }
    Object.assign(ca.plays, normal, plays[0]?.play);
    for (let tries = 0; tries < 3; tries++) {
      scene.clock.advance(waited);
      await at.look();
      const next = Date.parse((await at.listed())[0]?.next_try_at ?? '') - scene.clock.now();
      expect(next).toBeGreaterThan(waited * 1.5);
      waited = next;
    }
    Object.assign(ca.plays, normal);
    scene.clock.advance(waited);
    await at.look();
    expect(await at.listed()).toMatchObject([{ status: 'issued', last_error: null, failing_since: null }]);
    expect(ca.violations).toEqual([]);
  });

  it('that validates at the wrong place reports the name as not proven, and the order ends', async () => {
    await using at = await startWithAuthority();
    const { ca, scene } = at;
    const port = ca.look.httpPort;
    ca.look.httpPort = 1;
    await at.look();
    expect(await at.listed()).toMatchObject([
      { status: 'failing', last_error: expect.stringMatching(/rasket.test (was not proven|answers)|order failed/) },
    ]);
    ca.look.httpPort = port;
    scene.clock.advance(2 * 60_000);
    await at.look();
    expect(await at.listed()).toMatchObject([{ status: 'issued' }]);
    expect([ca.ordered.length, ca.finalized.length]).toEqual([2, 1]);
  });
});

it('a certificate issued before a kill -9 between finalize and download is fetched without a new order', async () => {
  await using at = await startWithAuthority();
  const { ca, scene } = at;
  const { config } = scene.app.world;
  const quiet = { ...config, log: { ...config.log, level: 'silent' } };
  const given = JSON.stringify({ config: quiet, dataDir: scene.dataDir, trustedCa: ca.trust });
  const child = spawn(process.execPath, [path.join(import.meta.dirname, 'renew-once.ts'), given], { stdio: 'inherit' });
  const gone = once(child, 'exit');
  ca.plays.finalized = async () => {
    child.kill('SIGKILL');
    await gone;
  };
  expect(await gone).toEqual([null, 'SIGKILL']);
  ca.plays.finalized = () => undefined;
  expect([ca.ordered, ca.finalized]).toEqual([[NAME], [NAME]]);
  await at.look();
  // Its lease is still valid: a slow node is not overtaken.
  expect(await at.listed()).toMatchObject([{ status: 'awaited' }]);
  scene.clock.advance(3 * 60_000);
  await at.look();
  expect((await at.shown()).isTrusted).toBe(true);
  expect([ca.ordered, ca.finalized, ca.accounts, ca.violations]).toEqual([[NAME], [NAME], 1, []]);
});

it('two nodes place one order', async () => {
  await using at = await startWithAuthority();
  const { ca, scene } = at;
  const elsewhere = { trustedCa: ca.trust, clock: scene.clock };
  const done = await Promise.all([
    renewCertificates(scene.app.world),
    lookElsewhere(scene, elsewhere),
    lookElsewhere(scene, elsewhere),
  ]);
  expect(done.map(({ issued }) => issued).toSorted()).toEqual([0, 0, 1]);
  expect([ca.ordered, ca.finalized, ca.accounts, ca.violations]).toEqual([[NAME], [NAME], 1, []]);
});

it('a slow order keeps its lease, and no other node places an order meanwhile', async () => {
  await using at = await startWithAuthority({ answer_seconds: 300 });
  const { ca, scene } = at;
  const { clock } = scene;
  ca.plays.finalized = async () => {
    const [row] = await at.listed();
    for (let passed = 0; passed < 200_000; passed += 40_000) {
      clock.advance(40_000);
      await expect
        .poll(async () => (await certificateById(scene.app.world.db, row?.id ?? ''))?.lease_until)
        .toBeGreaterThan(clock.now() + 60_000);
    }
    expect(await lookElsewhere(scene, { trustedCa: ca.trust, clock })).toEqual({ issued: 0, failed: 0 });
  };
  await at.look();
  expect([ca.ordered, ca.finalized, ca.violations]).toEqual([[NAME], [NAME], []]);
});

it('an order waits for a slow authority, and the certificate is renewed when the authority says', async () => {
  await using at = await startWithAuthority();
  const { ca, scene } = at;
  ca.plays.processing = 1;
  ca.plays.renewal = { start: '2099-01-01T00:00:00Z', end: '2099-01-02T00:00:00Z' };
  expect(await lookElsewhere(scene, { trustedCa: ca.trust })).toEqual({ issued: 1, failed: 0 });
  expect(ca.ordered).toEqual([NAME]);
  const [row] = await at.listed();
  expect(row?.status).toBe('issued');
  // A window after its end makes no sense.
  expect(Date.parse(row?.next_try_at ?? '')).toBeLessThan(Date.parse(row?.ends_at ?? ''));
  const soon = scene.clock.now() + DAY_MS;
  ca.plays.renewal = { start: new Date(soon).toISOString(), end: new Date(soon + 1000).toISOString() };
  await scene.app.jobs.find(({ name }) => name === 'ask-renewal-times')?.run();
  const [next] = await at.listed();
  expect(Math.abs(Date.parse(next?.next_try_at ?? '') - soon)).toBeLessThanOrEqual(1000);
});

it('a certificate whose renewal time is already over when it is issued is not ordered again at once', async () => {
  await using at = await startWithAuthority();
  const { ca, scene } = at;
  const [start, end] = [2, 1].map((days) => new Date(scene.clock.now() - days * DAY_MS).toISOString());
  ca.plays.renewal = { start: start ?? '', end: end ?? '' };
  expect(await lookElsewhere(scene, { trustedCa: ca.trust })).toEqual({ issued: 1, failed: 0 });
  const [row] = await at.listed();
  expect(Date.parse(row?.next_try_at ?? '')).toBeGreaterThan(scene.clock.now() + DAY_MS);
  expect(ca.ordered).toEqual([NAME]);
});
