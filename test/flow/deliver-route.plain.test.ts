import { afterEach, describe, expect, test } from 'vitest';
import type { Zones } from '../rig/dns.ts';
import { account, delivered, MX, setScene } from './deliver-scene.ts';
import type { Scene, SceneOptions } from './deliver-scene.ts';

let scene: Scene;
afterEach(() => scene.stop());

async function given(options: SceneOptions = {}): Promise<void> {
  scene = await setScene(options);
}

const BOTH: Zones = {
  'y.example': { MX: ['10 first.y.example', '20 second.y.example'] },
  'first.y.example': { A: ['127.0.0.2'] },
  'second.y.example': { A: ['127.0.0.1'] },
};

describe('the next mail exchanger gets the mail', () => {
  test('when the best one cannot be reached', async () => {
    await given({ zones: BOTH });
    expect(await scene.send('a@y.example')).toEqual([delivered('a@y.example', 'second.y.example')]);
    expect(account(scene.sink)).toEqual({ connections: 1, ehlo: 1, mail: 1, rcpt: 1, data: 1, accepted: 1 });
  });

  test('when the best one does not exist in DNS', async () => {
    await given({ zones: { ...BOTH, 'first.y.example': { A: 'NXDOMAIN', AAAA: 'NXDOMAIN' } } });
    expect(await scene.send('a@y.example')).toEqual([delivered('a@y.example', 'second.y.example')]);
  });

  test.each(['421 4.3.2 Not now', '450 4.3.2 Busy', '554 5.7.1 Not you', '521 5.3.2 No mail here', 'drop'])(
    'when the best one greets with %s',
    async (greeting) => {
      await given({ zones: BOTH });
      const first = await scene.anotherSink('127.0.0.2', { greeting });
      expect(await scene.send('a@y.example')).toEqual([delivered('a@y.example', 'second.y.example')]);
      expect(first.counts).toMatchObject({ connections: 1, ehlo: 0, mail: 0 });
    },
  );

  test('when the best one replies to EHLO with 421', async () => {
    await given({ zones: BOTH });
    const script = (command: string): string | undefined =>
      command.startsWith('EHLO') ? '421 4.3.2 Later' : undefined;
    const first = await scene.anotherSink('127.0.0.2', { script });
    expect(await scene.send('a@y.example')).toEqual([delivered('a@y.example', 'second.y.example')]);
    expect(account(first)).toEqual({ connections: 1, quit: 1 });
  });

  test('but not when the best one refuses the recipient', async () => {
    await given({ zones: BOTH });
    await scene.anotherSink('127.0.0.2');
    expect(await scene.send(['permfail@y.example', 'tempfail@y.example'])).toMatchObject([
      { kind: 'bounced', mx: 'first.y.example' },
      { kind: 'deferred', mx: 'first.y.example' },
    ]);
    expect(account(scene.sink)).toEqual({});
  });
});

test('the mail is deferred with the replies when no host greets', async () => {
  await given({ zones: BOTH, sink: { greeting: '554 5.7.1 Not you' } });
  expect(await scene.send(['a@y.example', 'b@y.example'])).toEqual(
    ['a@y.example', 'b@y.example'].map((address) => ({
      kind: 'deferred',
      address,
      reason: 'refused_for_now',
      detail: expect.stringMatching(
        /^first\.y\.example \[127\.0\.0\.2\]: connecting: .*ECONNREFUSED.*; second\.y\.example \[127\.0\.0\.1\]: the greeting: 554 5\.7\.1 Not you$/,
      ),
      reply: { code: 554, enhanced: '5.7.1', lines: ['Not you'] },
      cause: 'receiver_policy',
      mx: 'second.y.example',
    })),
  );
});

test('a domain whose only host says that it accepts no mail bounces', async () => {
  await given({ sink: { greeting: '521 5.3.2 This host takes no mail' } });
  expect(await scene.send('a@y.example')).toMatchObject([
    { kind: 'bounced', reason: 'takes_no_mail', reply: { code: 521 }, mx: MX },
  ]);
});

test('a refusal in the greeting is about us, and never suppresses the recipient', async () => {
  await given({ sink: { greeting: '554 5.7.1 Your address is on a list' } });
  expect(await scene.send('a@y.example')).toMatchObject([
    { kind: 'deferred', reason: 'refused_for_now', reply: { code: 554 }, mx: MX },
  ]);
});

test('a host that never greets defers the mail', async () => {
  await given({ sink: { greeting: 'silent' }, deliver: { timeouts: { greetingMs: 30 } } });
  expect(await scene.send('a@y.example')).toMatchObject([{ kind: 'deferred', reason: 'timeout', mx: MX }]);
});

const BOTH_FAMILIES: Zones = { 'y.example': { MX: [`10 ${MX}`] }, [MX]: { A: ['127.0.0.1'], AAAA: ['::1'] } };

test.each([
  ['IPv4 unless the region prefers IPv6', {}, [0, 1], [1, 1]],
  ['IPv6 where the region prefers it', { findRegion: () => ({ prefers: () => 'v6' as const }) }, [1, 0], [1, 1]],
])(
  'mail for a receiver with both families goes over %s, and over the other one when that does not respond',
  async (_, deliver, first, then) => {
    await given({ zones: BOTH_FAMILIES, deliver: { ...deliver, limits: { messagesPerConnectionMax: 1 } } });
    const six = await scene.anotherSink('::1');
    const accepted = (): number[] => [six.counts.accepted, scene.sink.counts.accepted];
    expect(await scene.send('a@y.example')).toEqual([delivered('a@y.example')]);
    expect(accepted()).toEqual(first);
    await (first[0] === 1 ? six : scene.sink).close();
    expect(await scene.send('a@y.example')).toEqual([delivered('a@y.example')]);
    expect(accepted()).toEqual(then);
  },
);

const countMatches = ({ commands }: Scene['sink'], verb: string): number =>
  commands.filter((command) => command.startsWith(verb)).length;

const GOOGLE_V6 =
  '550 5.7.1 [2001:db8::1] Our system has detected that this message does not meet IPv6 sending guidelines regarding PTR records and authentication. - gsmtp';

describe('a receiver that refuses mail over IPv6', () => {
  const deliver = { findRegion: () => ({ prefers: () => 'v6' as const }) };

  test.each([
    ['MAIL FROM', { script: (command: string) => (command.startsWith('MAIL') ? GOOGLE_V6 : undefined) }],
    ['the final dot', { refuseContent: GOOGLE_V6 }],
  ])('at %s gets it over IPv4 in the same attempt, and later mail over IPv4 at once', async (_, refusing) => {
    await given({ zones: BOTH_FAMILIES, deliver });
    const six = await scene.anotherSink('::1', refusing);
    // The second attempt: the rule holds for every attempt, not only for the first.
    expect(await scene.send('a@y.example', { attempt: 2 })).toEqual([delivered('a@y.example')]);
    expect(await scene.send('b@y.example', { attempt: 2 })).toEqual([delivered('b@y.example')]);
    expect([countMatches(six, 'MAIL'), scene.sink.counts.accepted]).toEqual([1, 2]);
  });

  test('is not tried over IPv4 when it has no IPv4 address', async () => {
    const zones: Zones = { 'y.example': { MX: [`10 ${MX}`] }, [MX]: { AAAA: ['::1'] } };
    await given({ zones, deliver });
    const script = (command: string): string | undefined => (command.startsWith('MAIL') ? GOOGLE_V6 : undefined);
    const six = await scene.anotherSink('::1', { script });
    expect(await scene.send('a@y.example')).toMatchObject([{ kind: 'bounced', cause: 'ptr_helo' }]);
    expect(countMatches(six, 'MAIL')).toBe(1);
  });
});

describe('a first refusal by a policy of the receiver', () => {
  const refusal = '550 5.7.1 Not from there';
  const script = (command: string): string | undefined => (command.startsWith('RCPT') ? refusal : undefined);

  test('is retried once over the other address family', async () => {
    await given({ zones: BOTH_FAMILIES, sink: { script } });
    const six = await scene.anotherSink('::1');
    expect(await scene.send('a@y.example', { attempt: 1 })).toEqual([delivered('a@y.example')]);
    expect([countMatches(scene.sink, 'RCPT'), six.counts.accepted]).toEqual([1, 1]);
  });

  test('is final when both families are refused, and at later attempts', async () => {
    await given({ zones: BOTH_FAMILIES, sink: { script } });
    const six = await scene.anotherSink('::1', { script });
    expect(await scene.send('a@y.example', { attempt: 1 })).toMatchObject([{ kind: 'bounced' }]);
    expect([countMatches(scene.sink, 'RCPT'), countMatches(six, 'RCPT')]).toEqual([1, 1]);
    expect(await scene.send('a@y.example', { attempt: 2 })).toMatchObject([{ kind: 'bounced' }]);
    expect([countMatches(scene.sink, 'RCPT'), countMatches(six, 'RCPT')]).toEqual([2, 1]);
  });

  test('is final for a recipient next to another one that was accepted', async () => {
    const one = (command: string): string | undefined => (command.includes('RCPT TO:<a@') ? refusal : undefined);
    await given({ zones: BOTH_FAMILIES, sink: { script: one } });
    const six = await scene.anotherSink('::1');
    const outcomes = await scene.send(['a@y.example', 'b@y.example'], { attempt: 1 });
    expect(outcomes.map(({ kind }) => kind)).toEqual(['bounced', 'delivered']);
    expect([scene.sink.counts.accepted, six.counts.connections]).toEqual([1, 0]);
  });
});

test('only a limited number of many mail exchangers with many addresses is looked up and tried', async () => {
  const names = Array.from({ length: 50 }, (_, n) => `mx${n}.y.example`);
  const zones: Zones = { 'y.example': { MX: names.map((name, n) => `${n} ${name}`) } };
  for (const [n, name] of names.entries()) {
    zones[name] = { A: Array.from({ length: 50 }, (_, at) => `127.1.${n}.${at + 1}`) };
  }
  await given({ zones });
  const [outcome] = await scene.send('a@y.example');
  expect(outcome).toMatchObject({ kind: 'deferred', reason: 'unreachable' });
  const tried = outcome && 'detail' in outcome ? outcome.detail.split('; ') : [];
  expect(tried).toHaveLength(20);
  const asked = new Set(scene.dns.queries.map(({ name }) => name).filter((name) => name !== 'y.example'));
  expect(asked).toEqual(new Set(names.slice(0, 10)));
});

test('mail leaves over one address family when its source address has only this one', async () => {
  const zones: Zones = { 'y.example': { MX: [`10 ${MX}`] }, [MX]: { A: ['127.0.0.1'], AAAA: ['::1'] } };
  await given({ zones, deliver: { sourceAddress: { v4: '127.0.0.9' } } });
  const six = await scene.anotherSink('::1');
  expect(await scene.send('a@y.example')).toEqual([delivered('a@y.example')]);
  expect([six.counts.connections, scene.sink.counts.accepted]).toEqual([0, 1]);
});

test('hosts of equal preference are chosen at random', async () => {
  const zones: Zones = {
    'y.example': { MX: ['10 one.y.example', '10 two.y.example'] },
    'one.y.example': { A: ['127.0.0.1'] },
    'two.y.example': { A: ['127.0.0.2'] },
  };
  const lots = [0.9, 0.1, 0.1, 0.9];
  const random = (): number => lots.shift() ?? 0.5;
  await given({ zones, deliver: { random, limits: { messagesPerConnectionMax: 1 } } });
  await scene.anotherSink('127.0.0.2');
  const reached = [await scene.send('a@y.example'), await scene.send('a@y.example')];
  expect(new Set(reached.map(([outcome]) => outcome?.kind === 'delivered' && outcome.mx))).toEqual(
    new Set(['one.y.example', 'two.y.example']),
  );
});

test('a domain without MX is its own mail exchanger', async () => {
  await given({ zones: { 'y.example': { A: ['127.0.0.1'] } } });
  expect(await scene.send('a@y.example')).toEqual([delivered('a@y.example', 'y.example')]);
});

test.each([
  {
    why: 'a null MX',
    zones: { 'y.example': { MX: ['0 .'], A: ['127.0.0.1'] } },
    outcome: { reason: 'takes_no_mail', reply: { code: 556, enhanced: '5.1.10' } },
  },
  {
    why: 'a domain that does not exist',
    zones: { 'z.example': { A: ['127.0.0.1'] } },
    outcome: { reason: 'no_such_domain', reply: { code: 550, enhanced: '5.1.2' } },
  },
  {
    why: 'exchangers without addresses',
    zones: { 'y.example': { MX: ['10 gone.y.example'], A: ['127.0.0.1'] } },
    outcome: { reason: 'no_route', reply: { code: 550, enhanced: '5.4.4' } },
  },
  {
    why: 'no MX and no address',
    zones: { 'y.example': { TXT: ['nothing here'] } },
    outcome: { reason: 'no_route', reply: { code: 550, enhanced: '5.4.4' } },
  },
  {
    why: 'an MX set that leads back to us',
    zones: { 'y.example': { MX: ['10 out.rasket.test', '20 mx.y.example'] }, 'mx.y.example': { A: ['127.0.0.1'] } },
    outcome: { reason: 'routing_loop', reply: { code: 554, enhanced: '5.4.6' } },
  },
  {
    why: 'our own name without MX',
    domain: 'out.rasket.test',
    zones: { 'out.rasket.test': { A: ['127.0.0.1'] } },
    outcome: { reason: 'routing_loop', reply: { code: 554, enhanced: '5.4.6' } },
  },
] as { why: string; domain?: string; zones: Zones; outcome: object }[])(
  'mail bounces without a connection for $why',
  async ({ zones, outcome, domain }) => {
    await given({ zones, deliver: { ownHostNames: ['Out.Rasket.Test'] } });
    const address = `a@${domain ?? 'y.example'}`;
    const [got] = await scene.send(address);
    expect(got).toMatchObject({ kind: 'bounced', address, ...outcome });
    expect(got).not.toHaveProperty('mx');
    expect(account(scene.sink)).toEqual({});
  },
);

test('a backup mail exchanger that is our own still delivers to better ones', async () => {
  const zones: Zones = {
    'y.example': { MX: ['10 mx.y.example', '20 out.rasket.test', '30 worse.y.example'] },
    'mx.y.example': { A: ['127.0.0.1'] },
    'worse.y.example': { A: ['127.0.0.2'] },
  };
  await given({ zones, deliver: { ownHostNames: ['out.rasket.test'] } });
  expect(await scene.send('a@y.example')).toEqual([delivered('a@y.example')]);
});

describe('when we are a mail exchanger ourselves,', () => {
  const zones: Zones = { 'y.example': { MX: ['10 out.rasket.test'] }, 'out.rasket.test': { A: ['127.0.0.1'] } };
  const own = { ownHostNames: ['out.rasket.test'] };

  test('mail that we receive is delivered to us, whatever network our address belongs to', async () => {
    await given({ zones, deliver: { ...own, allowPrivate: [], takesMailFor: async (name) => name === 'y.example' } });
    expect(await scene.send('a@y.example')).toEqual([delivered('a@y.example', 'out.rasket.test')]);
  });

  test.each([
    { why: 'mail that we receive', isOurs: true, outcome: delivered('a@y.example', 'out.rasket.test') },
    { why: 'no mail that we do not receive', isOurs: false, outcome: { kind: 'bounced', reason: 'blocked_address' } },
  ])('another name of our exchanger gets $why', async ({ isOurs, outcome }) => {
    const deliver = { ownHostNames: ['rasket.test'], ownExchangers: ['Out.Rasket.Test'], allowPrivate: [] };
    await given({ zones, deliver: { ...deliver, takesMailFor: async () => isOurs } });
    expect(await scene.send('a@y.example')).toMatchObject([outcome]);
  });

  test('a connection to one of our own names is distinguished from others', async () => {
    const opened: boolean[] = [];
    const ownConnections = {
      add: (_: unknown, { isHome }: { isHome: boolean }) => opened.push(isHome),
      has: () => false,
    };
    const others: Zones = { ...zones, 'z.example': { MX: [`10 ${MX}`] }, [MX]: { A: ['127.0.0.1'] } };
    const takesMailFor = async (name: string): Promise<boolean> => name === 'y.example';
    await given({ zones: others, deliver: { ...own, takesMailFor, ownConnections } });
    for (const domain of ['y.example', 'z.example']) expect(await scene.send(`a@${domain}`)).toHaveLength(1);
    expect(opened).toEqual([true, false]);
  });

  test('mail waits while the database cannot say whose it is', async () => {
    const takesMailFor = (): Promise<boolean> => Promise.reject(new Error('the database is gone'));
    await given({ zones, deliver: { ...own, takesMailFor } });
    expect(await scene.send('a@y.example')).toMatchObject([
      {
        kind: 'deferred',
        reason: 'unreachable',
        detail: 'it cannot be determined at present whether this server receives mail for y.example',
      },
    ]);
  });
});

test.each([
  {
    why: 'the MX lookup fails',
    zones: { 'y.example': { MX: 'SERVFAIL' } },
    detail: 'MX look-up of y.example: servfail',
  },
  {
    why: 'the MX lookup is refused',
    zones: { 'y.example': { MX: 'REFUSED' } },
    reason: 'resolver_failure',
    detail: 'MX look-up of y.example: refused',
  },
  {
    why: 'the resolver does not respond to the MX lookup',
    zones: { 'y.example': { MX: 'TIMEOUT' } },
    reason: 'resolver_failure',
    detail: 'MX look-up of y.example: timeout',
  },
  {
    why: 'the address lookup fails',
    zones: { 'y.example': { MX: [`10 ${MX}`] }, [MX]: { A: 'SERVFAIL' } },
    detail: `address look-up of ${MX}: servfail`,
  },
] as { why: string; zones: Zones; reason?: string; detail: string }[])(
  'the mail is deferred when $why',
  async ({ zones, reason = 'dns_failure', detail }) => {
    await given({ zones });
    expect(await scene.send('a@y.example')).toEqual([{ kind: 'deferred', address: 'a@y.example', reason, detail }]);
  },
);

test.each(['127.0.0.1', '10.1.2.3', '169.254.169.254', '192.168.1.1', '100.64.0.1', '0.0.0.0'])(
  'an MX record that points to %s leads to no connection',
  async (address) => {
    const zones: Zones = { 'y.example': { MX: [`10 ${MX}`] }, [MX]: { A: [address] } };
    await given({ zones, deliver: { allowPrivate: [] } });
    expect(await scene.send('a@y.example')).toMatchObject([
      {
        kind: 'bounced',
        reason: 'blocked_address',
        detail: `The mail exchangers of the domain have only addresses that are not on the public internet (${MX}: ${address})`,
        reply: { code: 550, enhanced: '5.4.4' },
      },
    ]);
    expect(account(scene.sink)).toEqual({});
  },
);

test.each(['::1', 'fe80::1', 'fd00::1', '::ffff:127.0.0.1', '64:ff9b::7f00:1'])(
  'an AAAA record that points to %s leads to no connection',
  async (address) => {
    const text = address === '::ffff:127.0.0.1' ? '::ffff:7f00:1' : address;
    const zones: Zones = { 'y.example': { MX: [`10 ${MX}`] }, [MX]: { AAAA: [text] } };
    await given({ zones, deliver: { allowPrivate: ['10.0.0.0/8'] } });
    expect(await scene.send('a@y.example')).toMatchObject([{ kind: 'bounced', reason: 'blocked_address' }]);
    expect(account(scene.sink)).toEqual({});
  },
);

test('the mail of a region with a smarthost goes there, whatever DNS says about the domain', async () => {
  await given({ zones: { 'relay.internal': { A: ['127.0.0.1'] } } });
  const smarthost = { host: 'relay.internal', port: scene.sink.port };
  await scene.stop();
  await given({
    sink: { port: smarthost.port },
    zones: { 'relay.internal': { A: ['127.0.0.1'] } },
    deliver: {
      smtpPort: 1,
      allowPrivate: [],
      findRegion: (name) => (name === 'eu' ? { smarthost, heloName: 'eu.rasket.test' } : {}),
    },
  });
  expect(await scene.send('a@y.example')).toEqual([
    { ...delivered('a@y.example', 'relay.internal'), relay: `relay.internal:${smarthost.port}` },
  ]);
  expect(scene.sink.commands[0]).toBe('EHLO eu.rasket.test');
  expect(await scene.send('a@y.example', { region: 'us' })).toMatchObject([{ kind: 'bounced' }]);
});
