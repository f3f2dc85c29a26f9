import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createResolver } from '../../src/platform/resolver/index.ts';
import type { Resolver } from '../../src/platform/resolver/index.ts';
import { startDns } from '../rig/dns.ts';
import type { DnsRig } from '../rig/dns.ts';

let dns: DnsRig;
let resolver: Resolver;
let now = 0;

const resolverWithin = (timeoutMs: number): Resolver =>
  createResolver({ servers: [dns.server], timeoutMs, tries: 1, now: () => now, cacheBytesMax: 1000 });

beforeEach(async () => {
  dns = await startDns();
  resolver = resolverWithin(20_000);
});
afterEach(async () => {
  resolver.close();
  await dns.close();
});

describe('a DNS response', () => {
  test('with MX records has preferences and bare names', async () => {
    dns.set('y.example', 'MX', ['20 Two.Y.example.', '10 one.y.example']);
    expect(await resolver.mx('Y.Example.')).toEqual({
      kind: 'found',
      records: [
        { preference: 20, host: 'two.y.example' },
        { preference: 10, host: 'one.y.example' },
      ],
    });
    dns.set('null.example', 'MX', ['0 .']);
    expect(await resolver.mx('null.example')).toEqual({ kind: 'found', records: [{ preference: 0, host: '' }] });
  });

  test('with addresses has both families and the shortest time to live', async () => {
    dns.set('h.example', 'A', ['192.0.2.1', '192.0.2.2']);
    dns.set('h.example', 'AAAA', ['2001:db8::1']);
    const records = { v4: ['192.0.2.1', '192.0.2.2'], v6: ['2001:db8::1'] };
    expect(await resolver.addresses('h.example')).toEqual({ kind: 'found', records });
  });

  test('with a text record of several parts is one string, however long', async () => {
    dns.set('t.example', 'TXT', [['v=DKIM1; p=', 'x'.repeat(255), 'y'.repeat(255)], 'short']);
    const answer = await resolver.txt('t.example');
    expect(answer).toMatchObject({ kind: 'found' });
    expect(answer.kind === 'found' && answer.records.sort()).toEqual([
      'short',
      `v=DKIM1; p=${'x'.repeat(255)}${'y'.repeat(255)}`,
    ]);
    expect(dns.queries.map((query) => query.over)).toEqual(['udp', 'tcp']);
  });

  test('follows an alias and names it', async () => {
    dns.set('alias.example', 'CNAME', ['Target.example']);
    dns.set('target.example', 'A', ['192.0.2.7']);
    expect(await resolver.addresses('alias.example')).toMatchObject({ records: { v4: ['192.0.2.7'] } });
    expect(await resolver.cname('alias.example')).toMatchObject({ kind: 'found', records: ['target.example'] });
  });

  test('for an address or localhost needs no name server', async () => {
    expect(await resolver.addresses('192.0.2.1')).toEqual({ kind: 'found', records: { v4: ['192.0.2.1'], v6: [] } });
    expect(await resolver.addresses('2001:db8::1')).toMatchObject({ records: { v4: [], v6: ['2001:db8::1'] } });
    expect(await resolver.addresses('localhost')).toMatchObject({ records: { v4: ['127.0.0.1'], v6: ['::1'] } });
    expect(dns.queries).toEqual([]);
  });
});

describe('a missing DNS response', () => {
  test('distinguishes a missing name from a missing record type', async () => {
    dns.set('y.example', 'A', ['192.0.2.1']);
    expect(await resolver.mx('gone.example')).toEqual({ kind: 'none', why: 'nxdomain' });
    expect(await resolver.mx('y.example')).toEqual({ kind: 'none', why: 'nodata' });
    expect(await resolver.txt(`${'x'.repeat(64)}.example`)).toEqual({ kind: 'none', why: 'nxdomain' });
  });

  test.each([
    ['SERVFAIL', 'servfail'],
    ['REFUSED', 'refused'],
  ] as const)('because of %s is a failure that is not cached', async (fault, reason) => {
    dns.set('y.example', 'MX', fault);
    expect(await resolver.mx('y.example')).toEqual({ kind: 'failed', reason });
    dns.set('y.example', 'MX', ['10 mx.y.example']);
    expect(await resolver.mx('y.example')).toMatchObject({ kind: 'found' });
  });

  test('because of a timeout is a failure that is not cached', async () => {
    const hasty = resolverWithin(200);
    dns.set('y.example', 'MX', 'TIMEOUT');
    expect(await hasty.mx('y.example')).toEqual({ kind: 'failed', reason: 'timeout' });
    dns.set('y.example', 'MX', ['10 mx.y.example']);
    // A busy machine may be too late once more.
    await expect.poll(() => hasty.mx('y.example')).toMatchObject({ kind: 'found' });
    hasty.close();
  });

  test('for one address family does not hide the other, and is never taken for “no addresses”', async () => {
    dns.set('h.example', 'A', ['192.0.2.1']);
    dns.set('h.example', 'AAAA', 'SERVFAIL');
    expect(await resolver.addresses('h.example')).toMatchObject({ records: { v4: ['192.0.2.1'], v6: [] } });
    dns.set('half.example', 'A', []);
    dns.set('half.example', 'AAAA', 'SERVFAIL');
    expect(await resolver.addresses('half.example')).toEqual({ kind: 'failed', reason: 'servfail' });
  });

  test('of an unreachable name server is a failure', async () => {
    const nobody = createResolver({ servers: ['127.0.0.1:1'], timeoutMs: 200, tries: 1 });
    expect(await nobody.mx('y.example')).toMatchObject({ kind: 'failed' });
    nobody.close();
  });

  test('after closing is a failure', async () => {
    dns.hold();
    dns.set('y.example', 'MX', ['10 mx.y.example']);
    const asked = resolver.mx('y.example');
    resolver.close();
    expect(await asked).toEqual({ kind: 'failed', reason: 'stopped' });
  });
});

describe('DNS lookups', () => {
  test('of the same name at the same time share one query', async () => {
    const release = dns.hold();
    dns.set('y.example', 'MX', ['10 mx.y.example']);
    const asked = [resolver.mx('y.example'), resolver.mx('Y.example.'), resolver.mx('y.example', { cache: false })];
    release();
    const answers = await Promise.all(asked);
    expect(new Set(answers.map((answer) => answer.kind))).toEqual(new Set(['found']));
    expect(dns.queries).toHaveLength(1);
  });

  test.each([
    { what: 'MX records', keptMs: 60_000, ask: () => resolver.mx('y.example') },
    { what: 'the absence of MX records', keptMs: 30_000, ask: () => resolver.mx('gone.example') },
  ])('cache $what for $keptMs ms', async ({ keptMs, ask }) => {
    dns.set('y.example', 'MX', ['10 mx.y.example']);
    await ask();
    now += keptMs - 1;
    await ask();
    expect(dns.queries).toHaveLength(1);
    now += 1;
    await ask();
    expect(dns.queries).toHaveLength(2);
  });

  test('are cached for the time to live of the record', async () => {
    dns.set('h.example', 'A', ['192.0.2.1']);
    dns.set('h.example', 'AAAA', ['2001:db8::1']);
    await resolver.addresses('h.example');
    now += 59_999;
    await resolver.addresses('h.example');
    expect(dns.queries).toHaveLength(2);
    now += 1;
    await resolver.addresses('h.example');
    expect(dns.queries).toHaveLength(4);
  });

  test('without the cache query again and renew the cache', async () => {
    dns.set('y.example', 'TXT', ['old']);
    await resolver.txt('y.example');
    dns.set('y.example', 'TXT', ['new']);
    expect(await resolver.txt('y.example')).toMatchObject({ records: ['old'] });
    expect(await resolver.txt('y.example', { cache: false })).toMatchObject({ records: ['new'] });
    expect(await resolver.txt('y.example')).toMatchObject({ records: ['new'] });
  });

  test('are cached within bounded memory', async () => {
    dns.set('*', 'TXT', ['x']);
    for (let i = 0; i < 10; i++) await resolver.txt(`n${i}.example`);
    await resolver.txt('n9.example');
    expect(dns.queries).toHaveLength(10);
    await resolver.txt('n0.example');
    expect(dns.queries).toHaveLength(11);
  });

  test('with more text than anybody publishes fail, and are not cached', async () => {
    const texts = (count: number) =>
      Array.from({ length: count }, (_, i) => new Array<string>(15).fill(`${i}`.padEnd(250, 'x')));
    dns.set('large.example', 'TXT', texts(5));
    expect(await resolver.txt('large.example')).toMatchObject({ kind: 'found' });
    dns.set('huge.example', 'TXT', texts(15));
    expect(await resolver.txt('huge.example')).toEqual({ kind: 'failed', reason: 'malformed' });
  });
});
