import { afterEach, expect, test } from 'vitest';
import { makeCertificate } from '../rig/tls.ts';
import { account, delivered, MX, setScene } from './deliver-scene.ts';
import type { Scene, SceneOptions } from './deliver-scene.ts';

let scene: Scene;
afterEach(() => scene.stop());

async function given(options: SceneOptions = {}): Promise<void> {
  scene = await setScene(options);
}

const TAKEN = { mail: 1, rcpt: 1, data: 1, accepted: 1 };

test.each([{ tls: 'starttls' }, { tls: 'bad-cert' }] as const)(
  'opportunistic mail is encrypted although the certificate cannot be trusted: $tls',
  async ({ tls }) => {
    await given({ sink: { tls } });
    const [outcome] = await scene.send('a@y.example');
    expect(outcome).toEqual({
      ...delivered('a@y.example'),
      tls: { version: 'TLSv1.3', cipher: expect.stringMatching(/^TLS_/), authorized: false },
    });
    expect(scene.sink.messages.map((message) => message.tls)).toEqual([true]);
    expect(account(scene.sink)).toEqual({ connections: 1, ehlo: 2, starttls: 1, secured: 1, ...TAKEN });
  },
);

test('a protected connection carries many messages', async () => {
  await given({ sink: { tls: 'starttls' } });
  for (let count = 0; count < 3; count += 1) {
    expect(await scene.send('a@y.example')).toMatchObject([{ kind: 'delivered', tls: { version: 'TLSv1.3' } }]);
  }
  expect(account(scene.sink)).toMatchObject({ connections: 1, secured: 1, accepted: 3 });
});

test('a protected connection that was idle for too long is closed, and its place is released', async () => {
  await given({ sink: { tls: 'starttls' }, deliver: { limits: { idleMs: 10, connectionsTotalMax: 1 } } });
  for (let count = 0; count < 2; count += 1) {
    expect(await scene.send('a@y.example')).toMatchObject([{ kind: 'delivered' }]);
    await scene.sink.waitFor((sink) => sink.open === 0);
  }
  expect(account(scene.sink)).toMatchObject({ connections: 2, secured: 2, quit: 2 });
});

test('opportunistic mail goes in clear text to a server whose handshake fails, which gets no further handshake', async () => {
  await given({
    sink: { tls: 'broken-handshake' },
    deliver: { limits: { messagesPerConnectionMax: 1 } },
  });
  expect(await scene.send('a@y.example')).toEqual([delivered('a@y.example')]);
  expect(account(scene.sink)).toEqual({ connections: 2, ehlo: 2, starttls: 1, ...TAKEN });
  await scene.sink.waitFor((sink) => sink.open === 0);
  expect(await scene.send('a@y.example')).toEqual([delivered('a@y.example')]);
  expect(scene.sink.counts).toMatchObject({ connections: 3, starttls: 1 });
});

test('a server that accepts mail only over TLS gets another handshake although the last one failed', async () => {
  await given({
    sink: {
      tls: 'broken-handshake',
      script: (command) => (command.startsWith('MAIL') ? '530 5.7.0 Must issue a STARTTLS command first' : undefined),
    },
  });
  const waits = [{ kind: 'deferred', reason: 'refused_for_now', cause: 'tls_required' }];
  expect(await scene.send('a@y.example')).toMatchObject(waits);
  expect(await scene.send('a@y.example')).toMatchObject(waits);
  expect(scene.sink.counts.starttls).toBe(2);
});

test('opportunistic mail continues in clear text when STARTTLS is refused', async () => {
  await given({ sink: { tls: 'refused' } });
  expect(await scene.send('a@y.example')).toEqual([delivered('a@y.example')]);
  expect(account(scene.sink)).toEqual({ connections: 1, ehlo: 1, starttls: 1, ...TAKEN });
});

test('a connection with replies injected after STARTTLS is given up', async () => {
  await given({ sink: { tls: 'injected' } });
  expect(await scene.send('a@y.example', { tls: 'enforced' })).toEqual([
    {
      kind: 'deferred',
      address: 'a@y.example',
      reason: 'tls_unavailable',
      detail: `${MX} [127.0.0.1]: STARTTLS: bytes were injected after the reply to STARTTLS`,
      mx: MX,
    },
  ]);
  expect(account(scene.sink)).toEqual({ connections: 1, ehlo: 1, starttls: 1 });
});

test.each([
  { tls: 'none', detail: `TLS is enforced for this sender, but ${MX} [127.0.0.1] offers no STARTTLS` },
  { tls: 'refused', detail: /replied to STARTTLS with 454 4\.7\.0 TLS not available$/ },
  { tls: 'broken-handshake', detail: /: the TLS handshake: / },
] as const)('enforced mail is not sent in clear text: $tls', async ({ tls, detail }) => {
  await given({ sink: { tls } });
  const matching = typeof detail === 'string' ? detail : expect.stringMatching(detail);
  expect(await scene.send('a@y.example', { tls: 'enforced' })).toEqual([
    { kind: 'deferred', address: 'a@y.example', reason: 'tls_unavailable', detail: matching, mx: MX },
  ]);
  expect(account(scene.sink)).not.toHaveProperty('mail');
  expect(scene.order).toEqual([]);
});

test('enforced mail accepts any certificate unless it must be verified', async () => {
  await given({ sink: { tls: 'bad-cert' } });
  expect(await scene.send('a@y.example', { tls: 'enforced' })).toMatchObject([
    { kind: 'delivered', tls: { authorized: false } },
  ]);
  await scene.stop();
  await given({ sink: { tls: 'bad-cert' }, deliver: { tls: { verifyEnforced: true } } });
  expect(await scene.send('a@y.example', { tls: 'enforced' })).toMatchObject([
    { kind: 'deferred', reason: 'tls_unavailable', detail: expect.stringContaining('certificate that is not valid') },
  ]);
});

test('a certificate for the host from a known authority is reported as authorized', async () => {
  const certificate = makeCertificate({ names: [MX] });
  await given({
    sink: { tls: 'starttls', certificate },
    deliver: { tls: { verifyEnforced: true, ca: certificate.cert } },
  });
  expect(await scene.send('a@y.example', { tls: 'enforced' })).toMatchObject([
    { kind: 'delivered', tls: { authorized: true } },
  ]);
});

test('a certificate of a known authority for another host is not authorized', async () => {
  const certificate = makeCertificate({ names: ['other.example'] });
  await given({
    sink: { tls: 'starttls', certificate },
    deliver: { tls: { verifyEnforced: true, ca: certificate.cert } },
  });
  expect(await scene.send('a@y.example', { tls: 'enforced' })).toMatchObject([
    { kind: 'deferred', reason: 'tls_unavailable' },
  ]);
});

test('a protected connection lost after the dot is ambiguous', async () => {
  await given({ sink: { tls: 'starttls' } });
  expect(await scene.send('drop-after-dot@y.example')).toMatchObject([{ kind: 'ambiguous', mx: MX }]);
});

test('enforced and opportunistic mail never share a connection', async () => {
  await given({ sink: { tls: 'starttls' } });
  await scene.send('a@y.example', { tls: 'opportunistic' });
  await scene.send('a@y.example', { tls: 'enforced' });
  expect(scene.sink.counts.connections).toBe(2);
});
