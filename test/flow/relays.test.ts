import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { freePort } from '../rig/free-port.ts';
import { startScene, type Scene } from '../rig/scene.ts';
import type { SinkAuth, SinkOptions } from '../rig/sink.ts';
import { makeCertificate } from '../rig/tls.ts';
import { HOUR, mailIn, MINUTE, type Mail } from './mail.ts';

const RELAY = 'smtp.relay.test';
const USER = 'postmaster@rasket.test';
const SECRET = 'Correct-horse-battery-staple';
const certificate = makeCertificate({ names: [RELAY] });

let scene: Scene;
let mail: Mail;
afterEach(() => scene.close());

interface Given {
  delivery?: Record<string, string>;
  relay?: Record<string, unknown>;
  password?: string;
  auth?: Partial<SinkAuth>;
  sink?: SinkOptions;
  networkWaits?: 'by hand';
}

/** All mail goes through the sink, which is the relay `main`; recipients' own servers are not reached. */
async function given({
  delivery = { relay: 'main' },
  relay,
  password = SECRET,
  auth,
  sink,
  networkWaits,
}: Given = {}): Promise<void> {
  const port = await freePort();
  scene = await startScene({
    sink: { port, tls: 'starttls', certificate, auth: { user: USER, secret: SECRET, ...auth }, ...sink },
    config: {
      delivery: { smtp_port: await freePort(), ...delivery },
      relays: {
        main: {
          host: RELAY,
          port,
          ca_file: 'relay/ca.pem',
          user: USER,
          password_file: 'relay/password',
          ...relay,
        },
      },
    },
    networkWaits,
    prepare: (dataDir) => {
      mkdirSync(path.join(dataDir, 'relay'));
      writeFileSync(path.join(dataDir, 'relay/ca.pem'), certificate.cert);
      writeFileSync(path.join(dataDir, 'relay/password'), `${password}\n`);
    },
  });
  scene.dns.set(RELAY, 'A', ['127.0.0.1']);
  mail = await mailIn(scene);
}

const fetchAttempts = async (id: string) =>
  (await scene.api('GET', `/emails/${id}/attempts`, { key: mail.team.key })).body.data;

const sendFrom = async (from: string, to: string): Promise<string> =>
  (await scene.api('POST', '/emails', { key: mail.team.key, body: { from, to, subject: 's', text: 't' } })).body.id;

describe('mail through a relay', () => {
  it('is delivered once the relay has accepted it, and its attempts name the relay and no secret', async () => {
    await given();
    const id = await mail.send('a@y.example');
    await scene.settled();
    expect((await mail.account(id)).state).toBe('delivered');
    const [attempt] = await fetchAttempts(id);
    expect(attempt).toMatchObject({ mx: RELAY, relay: 'main', destination: 'y.example' });
    expect(attempt.recipients[0].explanation).toMatch(/^The relay main accepted the message and forwards it/);
    expect(attempt.transcript).toContain('C: AUTH PLAIN ***');
    const secrets = [SECRET, Buffer.from(`\0${USER}\0${SECRET}`).toString('base64')];
    for (const secret of secrets) expect(JSON.stringify([attempt, scene.log])).not.toContain(secret);
  });

  it('waits while the relay refuses the login, which is a finding and no bounce, and then fails without a bounce', async () => {
    await given({ password: 'not-the-password' });
    const id = await mail.send('a@y.example');
    await scene.settled();
    expect(await mail.account(id)).toMatchObject({
      state: 'delivery_delayed',
      suppressed: [],
      waiting: ['a@y.example'],
    });
    const [attempt] = await fetchAttempts(id);
    expect(attempt.recipients[0]).toMatchObject({
      reason: 'relay_misconfigured',
      cause: 'relay_misconfigured',
      responsible: 'operator',
      advice: expect.stringContaining('rasket relays test main'),
    });
    const { body } = await scene.api('GET', '/operator/findings', { key: await scene.operator() });
    expect(body.findings).toMatchObject([
      { code: 'relay_misconfigured', severity: 'error', subjects: ['main'], summary: expect.stringContaining('535') },
    ]);
    expect(JSON.stringify([body, scene.log, attempt])).not.toContain('not-the-password');
    for (let hours = 0; hours < 60 && (await mail.account(id)).waiting.length > 0; hours += 1) {
      scene.clock.advance(HOUR);
      await scene.settled();
    }
    expect(await mail.account(id)).toMatchObject({ state: 'failed', suppressed: [], waiting: [] });
    expect((await mail.detail(id, 'email.failed')).failed).toMatchObject({ reason: 'relay_misconfigured' });
  });

  it('quotes only the beginning of a long refusal of the login', async () => {
    const lines = Array.from({ length: 100 }, () => `535-5.7.8 Authentication failed ${'x'.repeat(3000)}`);
    await given({ auth: { answer: [...lines, '535 5.7.8 Bye'].join('\r\n') } });
    await mail.send('a@y.example');
    await scene.settled();
    const { body } = await scene.api('GET', '/operator/findings', { key: await scene.operator() });
    expect(body.findings).toMatchObject([{ summary: expect.stringContaining('535 5.7.8 Authentication failed xxx') }]);
    expect(body.findings[0].summary.length).toBeLessThan(1200);
  });

  const toRcpt = (answer: string): SinkOptions => ({
    script: (command) => (/^RCPT TO:<bad@/.test(command) ? answer : undefined),
  });
  const findings = async () => {
    const { body } = await scene.api('GET', '/operator/findings', { key: await scene.operator() });
    return body.findings as { code: string; subjects: string[] }[];
  };

  it.each<[string, SinkOptions]>([
    ['RCPT TO with an account that is suspended', toRcpt('550 5.7.1 Your account has been suspended')],
    ['RCPT TO with an account that is disabled', toRcpt('550 5.7.1 Account disabled')],
    [
      'RCPT TO with a sender that is not verified',
      toRcpt(
        '550 The from address does not match a verified Sender Identity. Mail cannot be sent until this error is resolved.',
      ),
    ],
    ['RCPT TO with a sender it does not relay for', toRcpt('553 Relaying disallowed as s@shop.example')],
    ['the final dot with an account that is suspended', { refuseContent: '550 5.7.1 Your account has been suspended' }],
    [
      'the final dot with a sender that is not verified',
      {
        refuseContent:
          '554 Message rejected: Email address is not verified. The following identities failed the check in region US-EAST-1: a@x.example',
      },
    ],
    ['the final dot with the wish for a login', { refuseContent: '530 5.7.0 Authentication required' }],
    ['the final dot with a login that has expired', { refuseContent: '535 5.7.8 Expired' }],
  ])('waits while the relay replies to %s, which is a finding and no bounce', async (_, sink) => {
    await given({ sink });
    const id = await mail.send('bad@y.example');
    await scene.settled();
    expect(await mail.account(id)).toMatchObject({
      state: 'delivery_delayed',
      suppressed: [],
      waiting: ['bad@y.example'],
    });
    expect((await fetchAttempts(id))[0].recipients[0]).toMatchObject({ cause: 'relay_misconfigured' });
    expect(await findings()).toMatchObject([{ code: 'relay_misconfigured', subjects: ['main'] }]);
  });

  it('is retried when the quota of the account is used up', async () => {
    await given({ sink: { refuseContent: '550 5.4.5 Daily sending quota exceeded' } });
    const id = await mail.send('bad@y.example');
    await scene.settled();
    expect(await mail.account(id)).toMatchObject({ suppressed: [], waiting: ['bad@y.example'] });
    expect((await fetchAttempts(id))[0].recipients[0]).toMatchObject({ cause: 'rate' });
    expect(await findings()).toEqual([]);
  });

  it('bounces for a recipient whose own server the relay quotes, without a finding', async () => {
    const answer = '550 5.1.0 <bad@y.example>: undeliverable: host mx said: 550 Relaying denied';
    await given({ sink: toRcpt(answer) });
    const id = await mail.send(['a@y.example', 'bad@y.example']);
    await scene.settled();
    expect(await mail.account(id)).toMatchObject({ suppressed: [], waiting: [] });
    const outcomes = (await fetchAttempts(id))[0].recipients.map(
      ({ email, outcome }: { email: string; outcome: string }) => [email, outcome],
    );
    expect(outcomes).toEqual([
      ['a@y.example', 'delivered'],
      ['bad@y.example', 'bounced'],
    ]);
    expect(await findings()).toEqual([]);
  });

  it('is sent with a new password without a restart, and the finding ends', async () => {
    await given({ password: 'not-the-password' });
    const id = await mail.send('a@y.example');
    await scene.settled();
    writeFileSync(path.join(scene.dataDir, 'relay/password'), SECRET);
    scene.clock.advance(HOUR);
    await scene.settled();
    expect((await mail.account(id)).state).toBe('delivered');
    const { body } = await scene.api('GET', '/operator/findings', { key: await scene.operator() });
    expect(body.findings).toEqual([]);
  });

  it('of one sending domain uses the relay that names it, and mail of another one goes directly to the recipient', async () => {
    await given({ delivery: {}, relay: { domains: ['shop.example.com'] } });
    await mail.team.domain('shop.example.com');
    await mail.team.domain('other.example.com');
    const shop = await sendFrom('s@shop.example.com', 'a@y.example');
    const other = await sendFrom('s@other.example.com', 'a@y.example');
    await scene.settled();
    expect((await mail.account(shop)).state).toBe('delivered');
    expect((await fetchAttempts(shop))[0].relay).toBe('main');
    expect((await fetchAttempts(other))[0]).toMatchObject({ relay: null, recipients: [{ reason: 'unreachable' }] });
  });

  it('of one sending domain keeps its place in the queue while the recipient’s own servers are down', async () => {
    await given({ delivery: {}, relay: { domains: ['shop.example.com'] } });
    await mail.team.domain('shop.example.com');
    await mail.team.domain('other.example.com');
    const loadLane = async (id: string) =>
      (await scene.app.world.db.get<{ lane: number }>('select lane from deliveries where email_id = ?', [id]))?.lane;
    const direct = await sendFrom('s@other.example.com', 'a@y.example');
    await scene.settled();
    // The lane of retries, because y.example cannot be reached.
    expect(await loadLane(direct)).toBe(2);
    const relayed = await sendFrom('s@shop.example.com', 'slow@y.example');
    await scene.sink.waitFor((sink) => sink.held() === 1);
    expect(await loadLane(relayed)).toBe(0);
    const alsoDirect = await sendFrom('s@other.example.com', 'b@y.example');
    await vi.waitFor(async () => expect(await loadLane(alsoDirect)).toBe(2));
    scene.sink.openGate();
    await scene.settled();
    expect((await mail.account(relayed)).state).toBe('delivered');
  });

  it('uses the fallback relay when no server of the recipient can be connected to', async () => {
    await given({ delivery: { fallback_relay: 'main' } });
    const id = await mail.send('a@y.example');
    await scene.settled();
    expect((await mail.account(id)).state).toBe('delivered');
    expect((await fetchAttempts(id))[0]).toMatchObject({ relay: 'main', attempt: 1 });
  });

  it('beyond the limit per minute is sent later, which counts as no attempt', async () => {
    await given({ relay: { messages_per_minute: 1 }, networkWaits: 'by hand' });
    const ids: string[] = [];
    for (const name of ['a', 'b', 'c', 'd']) ids.push(await mail.send(`${name}@y.example`));
    await scene.sink.waitFor(1);
    // Two wait for their turn within the process, and the other one in the queue.
    await expect.poll(() => attemptsCounted(ids)).toEqual([0, 1, 1]);
    for (const accepted of [2, 3]) {
      scene.clock.advance(70_000);
      await scene.sink.waitFor(accepted);
    }
    scene.clock.advance(5 * MINUTE);
    await scene.sink.waitFor(4);
    await scene.settled();
    for (const id of ids) {
      expect(await mail.account(id)).toMatchObject({ state: 'delivered' });
      expect(await fetchAttempts(id)).toMatchObject([{ attempt: 1, relay: 'main' }]);
    }
  });
});

/** The attempts of the deliveries that are left, in order. */
async function attemptsCounted(emailIds: readonly string[]): Promise<number[]> {
  const rows = await scene.app.world.db.all<{ attempt: number; email_id: string }>(
    'select attempt, email_id from deliveries',
    [],
  );
  return rows
    .filter((row) => emailIds.includes(row.email_id))
    .map((row) => Number(row.attempt))
    .sort();
}
