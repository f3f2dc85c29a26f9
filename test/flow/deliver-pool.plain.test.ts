import { afterEach, describe, expect, test, vi } from 'vitest';
import type { Zones } from '../rig/dns.ts';
import { account, delivered, gate, MX, setScene } from './deliver-scene.ts';
import type { Scene, SceneOptions } from './deliver-scene.ts';

let scene: Scene;
afterEach(() => scene.stop());

async function given(options: SceneOptions = {}): Promise<void> {
  scene = await setScene(options);
}

/** Waits for what the pool itself counts, since no peer can tell us. */
async function untilPool(stats: Partial<ReturnType<Scene['delivery']['stats']>>): Promise<void> {
  await vi.waitFor(() => expect(scene.delivery.stats()).toMatchObject(stats), { interval: 1 });
}

const many = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

/** Every name has the same mail server. */
const HOSTED: Zones = { '*': { MX: [`10 ${MX}`] }, [MX]: { A: ['127.0.0.1'] } };

/** One address under another host name for each domain. */
const hostsOfTheirOwn = (domains: string[]): Zones =>
  Object.fromEntries(
    domains.flatMap((domain) => [
      [domain, { MX: [`10 mx.${domain}`] }],
      [`mx.${domain}`, { A: ['127.0.0.1'] }],
    ]),
  );

describe('a connection is reused', () => {
  test('for one message after another', async () => {
    await given();
    for (const _ of many(5)) expect(await scene.send('a@y.example')).toEqual([delivered('a@y.example')]);
    expect(account(scene.sink)).toEqual({ connections: 1, ehlo: 1, mail: 5, rcpt: 5, data: 5, accepted: 5 });
    expect(scene.delivery.stats()).toMatchObject({ onFreshConnection: 1, onReusedConnection: 4, idle: 1 });
  });

  test('for as many messages as a connection may carry', async () => {
    await given({ deliver: { limits: { messagesPerConnectionMax: 2, connectionsPerSiteMax: 1 } } });
    await Promise.all(many(5).map(() => scene.send('a@y.example')));
    expect(account(scene.sink)).toMatchObject({ connections: 3, accepted: 5, quit: 2 });
  });

  test('until it was idle for too long', async () => {
    await given({ deliver: { limits: { idleMs: 10 } } });
    await scene.send('a@y.example');
    await scene.sink.waitFor((sink) => sink.counts.quit === 1 && sink.open === 0);
    await untilPool({ connections: 0, idle: 0 });
    expect(await scene.send('a@y.example')).toEqual([delivered('a@y.example')]);
    expect(scene.sink.counts.connections).toBe(2);
  });

  test('unless the server closed it while it was idle', async () => {
    await given();
    await scene.send('a@y.example');
    scene.sink.dropConnections();
    await untilPool({ connections: 0 });
    expect(await scene.send('a@y.example')).toEqual([delivered('a@y.example')]);
    expect(scene.delivery.stats()).toMatchObject({ onFreshConnection: 2, onReusedConnection: 0 });
  });
});

describe('a connection is shared by the domains of one mail server', () => {
  test('for one message after another', async () => {
    await given({ zones: HOSTED });
    for (const n of many(5)) expect(await scene.send(`a@d${n}.example`)).toEqual([delivered(`a@d${n}.example`)]);
    expect(account(scene.sink)).toEqual({ connections: 1, ehlo: 1, mail: 5, rcpt: 5, data: 5, accepted: 5 });
    expect(scene.delivery.stats()).toMatchObject({ sites: 1, connections: 1, idle: 1 });
  });

  test('while many messages wait, and nobody opens a new one for its turn', async () => {
    await given({ zones: HOSTED, deliver: { limits: { connectionsPerAddressMax: 4 } } });
    const sent = many(200).map((n) => scene.send(`a${n}@d${n % 10}.example`, { teamId: `team_${n % 3}` }));
    const outcomes = (await Promise.all(sent)).flat();
    expect(outcomes.filter((outcome) => outcome.kind === 'delivered')).toHaveLength(200);
    expect(scene.sink.counts.connections).toBeLessThanOrEqual(4);
    await untilPool({ waiting: 0 });
  });

  test('for as many messages as it may carry', async () => {
    await given({ zones: HOSTED, deliver: { limits: { messagesPerConnectionMax: 2, connectionsPerAddressMax: 2 } } });
    for (const n of many(5)) await scene.send(`a@d${n}.example`);
    expect(account(scene.sink)).toMatchObject({ connections: 3, accepted: 5, quit: 2 });
  });

  test('but not with mail that requires TLS', async () => {
    await given({ zones: HOSTED });
    await scene.send('a@one.example');
    expect(await scene.send('b@two.example', { tls: 'enforced' })).toMatchObject([{ reason: 'tls_unavailable' }]);
    expect(account(scene.sink)).toMatchObject({ connections: 2, accepted: 1 });
  });

  test('but not between source addresses, or with another mail server at the same address', async () => {
    const egress = { heloName: 'other.rasket.test' };
    const zones = { ...HOSTED, ...hostsOfTheirOwn(['own.example']) };
    await given({ zones, deliver: { findRegion: (name) => (name === 'us' ? egress : {}) } });
    await scene.send('a@one.example');
    await scene.send('b@two.example', { region: 'us' });
    await scene.send('c@own.example');
    expect(account(scene.sink)).toMatchObject({ connections: 3, ehlo: 3, accepted: 3 });
  });

  test('but not after the server announced its end', async () => {
    const script = (command: string): string | undefined =>
      command.startsWith('RCPT TO:<bad') ? '421 4.7.0 Enough' : undefined;
    await given({ zones: HOSTED, sink: { script }, deliver: { limits: { connectionsPerAddressMax: 1 } } });
    const bad = scene.send('bad@one.example');
    const good = scene.send('good@two.example', { teamId: 'team_2' });
    expect(await bad).toMatchObject([{ kind: 'deferred' }]);
    expect(await good).toEqual([delivered('good@two.example')]);
    expect(scene.delivery.stats()).toMatchObject({ onFreshConnection: 2, onReusedConnection: 0 });
  });

  test('and a message that finds it closed is sent over a new one', async () => {
    const script = (command: string, { number, messages }: { number: number; messages: number }): string | undefined =>
      command.startsWith('MAIL') && number <= 2 && messages === 1 ? 'drop' : undefined;
    await given({ zones: HOSTED, sink: { script } });
    const first = [scene.send('slow+1@one.example'), scene.send('slow+2@one.example')];
    await scene.sink.waitFor((sink) => sink.counts.data === 2);
    scene.sink.openGate();
    await Promise.all(first);
    await untilPool({ idle: 2 });
    expect(await scene.send('b@two.example')).toEqual([delivered('b@two.example')]);
    expect(account(scene.sink)).toMatchObject({ connections: 3, accepted: 3 });
  });
});

describe('a reused connection that ends before it replies', () => {
  test('is not followed by another idle one, which would be closed as well', async () => {
    const script = (command: string, { number, messages }: { number: number; messages: number }): string | undefined =>
      command.startsWith('MAIL') && number <= 2 && messages === 1 ? 'drop' : undefined;
    await given({ sink: { script } });
    const first = [scene.send('slow+1@y.example'), scene.send('slow+2@y.example')];
    await scene.sink.waitFor((sink) => sink.counts.data === 2);
    scene.sink.openGate();
    await Promise.all(first);
    await untilPool({ idle: 2 });
    expect(await scene.send('b@y.example')).toEqual([delivered('b@y.example')]);
  });

  test.each([
    { how: 'by closing', answer: 'drop' },
    { how: 'with 421', answer: '421 4.4.2 Idle for too long' },
  ])('$how costs one more connection and no delivery', async ({ answer }) => {
    const script = (command: string, { messages }: { messages: number }): string | undefined =>
      command.startsWith('MAIL') && messages === 1 ? answer : undefined;
    await given({ sink: { script } });
    for (const _ of many(2)) expect(await scene.send('a@y.example')).toEqual([delivered('a@y.example')]);
    expect(scene.sink.counts).toMatchObject({ connections: 2, accepted: 2 });
    expect(scene.order).toEqual(many(2).flatMap(() => ['intend a@y.example', 'durable', 'mark', 'accepted']));
  });

  test('is retried only once', async () => {
    const script = (command: string, { number }: { number: number }): string | undefined =>
      command.startsWith('MAIL') && number > 1 ? 'drop' : command === 'RSET' ? 'drop' : undefined;
    await given({ sink: { script, messagesPerConnection: 1 } });
    await scene.send('a@y.example');
    expect(await scene.send('a@y.example')).toMatchObject([{ kind: 'deferred', reason: 'connection_lost' }]);
    expect(scene.sink.counts.connections).toBe(2);
  });

  test('is not retried when the sender was already accepted', async () => {
    await given();
    await scene.send('a@y.example');
    expect(await scene.send('drop-at-rcpt@y.example')).toMatchObject([{ kind: 'deferred', reason: 'connection_lost' }]);
    expect(account(scene.sink)).toMatchObject({ connections: 1, mail: 2, rcpt: 2, dropped: 1 });
  });
});

test('a server that replies out of turn is never believed to have accepted mail', async () => {
  // The second answer to EHLO stands where the answer to MAIL is expected.
  const script = (command: string): string | undefined =>
    command.startsWith('EHLO') ? '250-sink.test\r\n250 PIPELINING\r\n250 Again' : undefined;
  await given({ sink: { script } });
  expect(await scene.send('a@y.example')).toMatchObject([{ kind: 'deferred', reason: 'protocol_error' }]);
  expect(scene.order).toEqual([]);
  await scene.sink.waitFor((sink) => sink.open === 0);
});

test('a reply that a server started out of turn is not taken for the reply to the next message', async () => {
  const script = (command: string): string | undefined =>
    command.startsWith('MAIL FROM:<private@') ? '550 5.7.1 No\r\n250-private' : undefined;
  const transcripts: string[][] = [];
  const onTrouble = ({ transcript }: { transcript: string[] }): void => void transcripts.push(transcript);
  await given({ sink: { pipelining: false, script }, deliver: { onTrouble } });
  expect(await scene.send('a@y.example', { mailFrom: 'private@x.example' })).toMatchObject([{ kind: 'bounced' }]);
  expect(await scene.send('permfail@y.example', { teamId: 'team_2' })).toMatchObject([{ kind: 'bounced' }]);
  expect(transcripts).toHaveLength(2);
  expect(transcripts[1]?.join('\n')).not.toContain('private');
  expect(scene.sink.counts.connections).toBe(2);
});

describe('connections are limited', () => {
  test('and messages of a team that wait for one are sent in order', async () => {
    await given({ deliver: { limits: { connectionsPerSiteMax: 1 } } });
    const slow = scene.send('slow@y.example');
    await scene.sink.waitFor((sink) => sink.counts.data === 1);
    const waiting = many(4).map((index) => scene.send(`w${index}@y.example`));
    scene.sink.openGate();
    await Promise.all([slow, ...waiting]);
    const served = scene.sink.messages.map((message) => message.rcptTo[0]);
    expect(served).toEqual(['slow', 'w0', 'w1', 'w2', 'w3'].map((name) => `${name}@y.example`));
  });

  test('for each set of mail servers, of which one team uses two thirds, and waiting messages use those', async () => {
    await given({ deliver: { limits: { connectionsPerSiteMax: 3 } } });
    const sent = many(2).map((index) => scene.send(`slow+${index}@y.example`));
    await scene.sink.waitFor((sink) => sink.counts.data === 2);
    const waiting = many(4).map((index) => scene.send(`w${index}@y.example`));
    const other = scene.send('slow+2@y.example', { teamId: 'team_2' });
    await scene.sink.waitFor((sink) => sink.counts.data === 3);
    const more = scene.send('slow+3@y.example', { teamId: 'team_3' });
    expect(scene.delivery.stats()).toMatchObject({ connections: 3, waiting: 5 });
    scene.sink.openGate();
    await Promise.all([...sent, ...waiting, other, more]);
    expect(account(scene.sink)).toMatchObject({ connections: 3, accepted: 8 });
  });

  test('to one while the destination has not replied yet', async () => {
    await given({ sink: { greeting: '421 4.3.2 Not now' } });
    await Promise.all(many(20).map(() => scene.send('a@y.example')));
    expect(scene.sink.counts.connections).toBe(1);
  });

  test('in total, and an idle one makes room for another destination', async () => {
    const domains = ['a.example', 'b.example', 'c.example', 'd.example'];
    await given({ zones: hostsOfTheirOwn(domains), deliver: { limits: { connectionsTotalMax: 1 } } });
    const sent = await Promise.all(domains.map((domain) => scene.send(`to@${domain}`)));
    expect(sent.map(([outcome]) => outcome?.kind)).toEqual(domains.map(() => 'delivered'));
    expect(scene.sink.counts.connections).toBe(4);
    expect(await scene.send('to@a.example')).toMatchObject([{ kind: 'delivered' }]);
    await untilPool({ connections: 1, waiting: 0 });
  });

  test('by the server, and messages it refuses new connections for use the existing ones', async () => {
    const script = (command: string, { number }: { number: number }): string | undefined =>
      command.startsWith('EHLO') && number > 2 ? '421 4.7.0 Too many connections' : undefined;
    await given({ sink: { script } });
    const outcomes = await Promise.all(many(30).map(() => scene.send('a@y.example')));
    expect(outcomes.every(([outcome]) => outcome?.kind === 'delivered')).toBe(true);
    expect(scene.sink.counts.accepted).toBe(30);
  });

  test('by the server, which gets no further attempts at once', async () => {
    const script = (command: string, { number }: { number: number }): string | undefined =>
      command.startsWith('EHLO') && number > 1 ? '421 4.7.0 Too many connections' : undefined;
    await given({ sink: { script } });
    const slow = scene.send('slow@y.example');
    await scene.sink.waitFor((sink) => sink.counts.data === 1);
    const second = scene.send('b@y.example');
    await untilPool({ connections: 1, waiting: 1, down: 0 });
    const third = scene.send('c@y.example');
    scene.sink.openGate();
    await Promise.all([slow, second, third]);
    expect(scene.sink.counts).toMatchObject({ connections: 2, accepted: 3 });
  });
});

test('a slow site does not delay another one', async () => {
  await given({
    zones: hostsOfTheirOwn(['slow.example', 'quick.example']),
    deliver: { limits: { connectionsPerSiteMax: 2 } },
  });
  const slow = many(10).map((index) => scene.send(`slow+${index}@slow.example`));
  await scene.sink.waitFor((sink) => sink.counts.data === 2);
  for (const _ of many(5)) expect(await scene.send('a@quick.example')).toMatchObject([{ kind: 'delivered' }]);
  expect(scene.sink.counts.accepted).toBe(5);
  scene.sink.openGate();
  const outcomes = await Promise.all(slow);
  expect(outcomes.every(([outcome]) => outcome?.kind === 'delivered')).toBe(true);
});

describe('a destination that failed', () => {
  test('is avoided for growing times, and then tried again', async () => {
    let now = 1_000_000;
    await given({ sink: { greeting: '421 4.3.2 Not now' }, deliver: { now: () => now, random: () => 0.5 } });
    const connections: number[] = [];
    const outcomes: unknown[] = [];
    const waits = [0, 4_999, 1, 9_999, 1, 19_999, 1, 39_999, 1, 59_999, 1, 59_999, 1];
    for (const waitMs of waits) {
      now += waitMs;
      outcomes.push(...(await scene.send('a@y.example')));
      connections.push(scene.sink.counts.connections);
    }
    expect(connections).toEqual([1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7]);
    const detail = `${MX} [127.0.0.1]: the greeting: 421 4.3.2 Not now`;
    const reply = { code: 421, enhanced: '4.3.2', lines: ['Not now'] };
    expect(outcomes.slice(0, 2)).toEqual([
      {
        kind: 'deferred',
        address: 'a@y.example',
        reason: 'refused_for_now',
        detail,
        reply,
        cause: 'receiver_trouble',
        mx: MX,
      },
      {
        kind: 'deferred',
        address: 'a@y.example',
        reason: 'destination_down',
        detail: `Not tried, because a moment ago: ${detail}`,
        reply,
        cause: 'receiver_trouble',
        mx: MX,
      },
    ]);
  });

  test('is trusted again as soon as it replies', async () => {
    let now = 1_000_000;
    let isUp = false;
    const script = (command: string): string | undefined =>
      command.startsWith('EHLO') && !isUp ? '421 4.3.2 Not now' : undefined;
    const limits = { messagesPerConnectionMax: 1 };
    await given({ sink: { script }, deliver: { now: () => now, random: () => 0.5, limits } });
    const kinds: unknown[] = [];
    for (const [waitMs, up] of [
      [0, false],
      [5_000, true],
      [0, true],
      [0, false],
      [5_000, true],
    ] as const) {
      now += waitMs;
      isUp = up;
      kinds.push((await scene.send('a@y.example'))[0]?.kind);
      await untilPool({ connections: 0 });
    }
    expect(kinds).toEqual(['deferred', 'delivered', 'delivered', 'deferred', 'delivered']);
  });

  test('does not cause a message to be built that is not attempted', async () => {
    await given({ sink: { greeting: '421 4.3.2 Not now' } });
    const message = (): Promise<never> => Promise.reject(new Error('asked for'));
    for (const _ of many(2)) expect(await scene.send('a@y.example', { message })).toMatchObject([{ kind: 'deferred' }]);
  });
});

test('an abort releases a message that waits for a connection', async () => {
  await given({ deliver: { limits: { connectionsPerSiteMax: 1 } } });
  const slow = scene.send('slow@y.example');
  await scene.sink.waitFor((sink) => sink.counts.data === 1);
  const abort = new AbortController();
  const waiting = scene.send('a@y.example', { signal: abort.signal });
  const next = scene.send('b@y.example');
  abort.abort();
  expect(await waiting).toMatchObject([{ kind: 'deferred', reason: 'stopping' }]);
  scene.sink.openGate();
  expect([await slow, await next]).toEqual([[delivered('slow@y.example')], [delivered('b@y.example')]]);
  expect(await scene.send('c@y.example', { signal: AbortSignal.abort() })).toMatchObject([
    { kind: 'deferred', reason: 'stopping' },
  ]);
});

describe('a stop of delivery', () => {
  test('lets transactions in progress end, refuses waiting messages, and sends QUIT', async () => {
    await given({ deliver: { limits: { connectionsPerSiteMax: 1 } } });
    const slow = scene.send('slow@y.example');
    await scene.sink.waitFor((sink) => sink.counts.data === 1);
    const waiting = scene.send('a@y.example');
    const closed = scene.delivery.close(5_000);
    expect(await waiting).toMatchObject([{ kind: 'deferred', reason: 'stopping' }]);
    expect(await scene.send('b@y.example')).toMatchObject([{ kind: 'deferred', reason: 'stopping' }]);
    scene.sink.openGate();
    expect(await slow).toEqual([delivered('slow@y.example')]);
    await closed;
    expect(account(scene.sink)).toMatchObject({ connections: 1, accepted: 1, quit: 1 });
    expect(scene.delivery.stats()).toMatchObject({ connections: 0, idle: 0, waiting: 0 });
  });

  test('gives up hosts that have not greeted yet', async () => {
    await given({ sink: { greeting: 'silent' } });
    const opening = scene.send('a@y.example');
    await scene.sink.waitFor((sink) => sink.open === 1);
    await scene.delivery.close(5_000);
    expect(await opening).toMatchObject([{ kind: 'deferred', reason: 'stopping' }]);
    expect(scene.delivery.stats()).toMatchObject({ connections: 0, waiting: 0, down: 0 });
    await scene.sink.waitFor((sink) => sink.open === 0);
  });

  test('cuts off what does not end in time: ambiguous after the dot, deferred before it', async () => {
    await given();
    const ledger = gate();
    const after = scene.send('slow@y.example');
    const before = scene.send('b@y.example', { handOff: { intend: () => ledger.opened } });
    await scene.sink.waitFor((sink) => sink.counts.data === 2);
    await vi.waitUntil(() => scene.order.includes('mark') && scene.order.includes('intend b@y.example'), {
      interval: 1,
    });
    await scene.delivery.close(1);
    ledger.open();
    expect(await after).toMatchObject([{ kind: 'ambiguous', address: 'slow@y.example' }]);
    expect(await before).toMatchObject([{ kind: 'deferred', reason: 'stopping' }]);
    expect(scene.order.filter((step) => step === 'mark')).toHaveLength(1);
  });
});
