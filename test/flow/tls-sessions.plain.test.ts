import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { StsState, TlsPolicies, TlsSession } from '../../src/mail/deliver/index.ts';
import { makeCertificate } from '../rig/tls.ts';
import { MX, setScene, type Scene, type SceneOptions } from './deliver-scene.ts';

const zones = {
  'one.example': { MX: [`10 ${MX}`] },
  'two.example': { MX: [`10 ${MX}`] },
  [MX]: { A: ['127.0.0.1'] },
};

let scene: Scene;
let policies: Record<string, StsState>;
let sessions: TlsSession[];
beforeEach(() => {
  policies = {};
  sessions = [];
});
afterEach(() => scene.stop());

const publish = (domain: string, mode: 'testing' | 'enforce'): void => {
  policies[domain] = { kind: 'policy', policy: { mode, maxAgeSeconds: 86_400, mx: [MX] } };
};

async function given({ sink, ca }: { sink: SceneOptions['sink']; ca?: string }): Promise<void> {
  const tlsPolicies: TlsPolicies = {
    isExempt: () => false,
    findSts: (domain) => Promise.resolve(policies[domain] ?? { kind: 'none' }),
    findDane: () => undefined,
  };
  const onTlsSession = (session: TlsSession): void => void sessions.push(session);
  const tls = ca === undefined ? {} : { tls: { ca } };
  scene = await setScene({ ...(sink ? { sink } : {}), zones, deliver: { tlsPolicies, onTlsSession, ...tls } });
}

/** The domains that sessions were counted for, with the kinds of their policies and of their faults. */
const listCounted = (): string[] =>
  sessions.map(({ domain, results }) =>
    [domain, ...results.map(({ policy: { type }, fault }) => `${type} ${fault?.kind ?? 'succeeded'}`)].join(' '),
  );

describe('a connection that two domains share', () => {
  it('is counted once for each of them, under the policies of that domain', async () => {
    const certificate = makeCertificate({ names: [MX] });
    await given({ sink: { tls: 'starttls', certificate }, ca: certificate.cert });
    publish('one.example', 'testing');
    // The site is located for the second domain last.
    for (const domain of ['one.example', 'two.example', 'one.example', 'two.example'])
      expect(await scene.send(`a@${domain}`)).toMatchObject([{ kind: 'delivered' }]);
    expect(scene.sink.counts.connections).toBe(1);
    expect(listCounted()).toEqual(['one.example sts succeeded', 'two.example no-policy-found succeeded']);
  });

  it('is counted as a failure for each of them if the server offers no TLS', async () => {
    await given({ sink: { tls: 'none' } });
    for (const domain of ['one.example', 'two.example']) await scene.send(`a@${domain}`);
    expect(scene.sink.counts.connections).toBe(1);
    expect(listCounted()).toEqual([
      'one.example no-policy-found starttls-not-supported',
      'two.example no-policy-found starttls-not-supported',
    ]);
  });

  it('is not counted for a domain whose mail it never carried', async () => {
    await given({ sink: { tls: 'starttls' } });
    const gone = AbortSignal.abort();
    await scene.send('a@one.example');
    await scene.send('a@two.example', { signal: gone });
    expect(listCounted()).toEqual(['one.example no-policy-found succeeded']);
  });

  it('is counted for each domain whose mail waited for it if it cannot be opened', async () => {
    await given({ sink: { tls: 'starttls' } });
    for (const domain of ['one.example', 'two.example']) publish(domain, 'enforce');
    const answer = scene.dns.hold('A');
    const sends = ['one.example', 'two.example'].map((domain) => scene.send(`a@${domain}`));
    await expect.poll(() => scene.delivery.stats().waiting).toBe(2);
    answer();
    expect(await Promise.all(sends)).toMatchObject([[{ kind: 'deferred' }], [{ kind: 'deferred' }]]);
    expect(scene.sink.counts.connections).toBe(1);
    expect(listCounted()).toEqual([
      'one.example sts certificate-not-trusted',
      'two.example sts certificate-not-trusted',
    ]);
    expect(sessions.map(({ unmet }) => unmet)).toEqual([expect.any(String), expect.any(String)]);
  });
});

it('mail that ignores the policies of its domain is not counted, although it shares a connection', async () => {
  await given({ sink: { tls: 'starttls' } });
  await scene.send('a@one.example', { ignoresPolicies: true });
  await scene.send('a@two.example');
  expect(listCounted()).toEqual(['two.example no-policy-found succeeded']);
  await scene.send('a@one.example');
  expect(listCounted()).toEqual(['two.example no-policy-found succeeded', 'one.example no-policy-found succeeded']);
  expect(scene.sink.counts.connections).toBe(1);
});
