import { createHash } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  createSecureResolver,
  findTlsa,
  type HostDane,
  type SecureResolver,
} from '../../src/platform/resolver/index.ts';
import type { TlsaRecord } from '../../src/protocol/dns/index.ts';
import { startBind, type Bind } from '../rig/bind.ts';
import { signZone } from '../rig/signed-zone.ts';
import { startUnbound, type Unbound, type UnboundOptions } from '../rig/unbound.ts';
import { describePeers, findProgram } from './peers.ts';

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
const tlsa = (usage: number, text: string): TlsaRecord => ({
  usage,
  selector: 1,
  matching: 1,
  association: digest(text),
});
const line = (name: string, usage: number, text: string): string =>
  `_25._tcp.${name}. 300 IN TLSA ${usage} 1 1 ${digest(text).toString('hex')}`;
const MANY = Array.from({ length: 40 }, (_, i) => `key ${i}`);

const SIGNED = [
  'signed.test. 300 IN MX 10 MX.signed.test.',
  'signed.test. 300 IN MX 20 mx.plain.test.',
  'silent.signed.test. 300 IN MX 0 .',
  'mx.signed.test. 300 IN A 127.0.0.1',
  'mx.signed.test. 300 IN AAAA ::1',
  line('mx.signed.test', 3, 'mx'),
  line('mx.signed.test', 2, 'authority'),
  line('mx.signed.test', 1, 'mx'),
  'pkix.signed.test. 300 IN A 127.0.0.1',
  line('pkix.signed.test', 0, 'authority'),
  line('pkix.signed.test', 1, 'pkix'),
  'many.signed.test. 300 IN A 127.0.0.1',
  ...MANY.map((text) => line('many.signed.test', 3, text)),
  'bare.signed.test. 300 IN A 127.0.0.1',
  'other.signed.test. 300 IN A 127.0.0.1',
  '_25._tcp.other.signed.test. 300 IN TXT "not TLSA"',
  'empty.signed.test. 300 IN TXT "no address"',
  // Aliases in the zone.
  'alias.signed.test. 300 IN CNAME second.signed.test.',
  'second.signed.test. 300 IN CNAME mx.signed.test.',
  line('alias.signed.test', 3, 'alias'),
  'own.signed.test. 300 IN CNAME bare.signed.test.',
  line('own.signed.test', 3, 'own'),
  'bare-alias.signed.test. 300 IN CNAME bare.signed.test.',
  // Aliases that leave the zone.
  'away.signed.test. 300 IN CNAME mx.plain.test.',
  line('away.signed.test', 3, 'away'),
  'away-bare.signed.test. 300 IN CNAME mx.plain.test.',
  'other-zone.signed.test. 300 IN CNAME mx.second.test.',
  // Aliases of TLSA records.
  'shared.signed.test. 300 IN A 127.0.0.1',
  '_25._tcp.shared.signed.test. 300 IN CNAME _dane.signed.test.',
  `_dane.signed.test. 300 IN TLSA 3 1 1 ${digest('shared').toString('hex')}`,
  'leak.signed.test. 300 IN A 127.0.0.1',
  '_25._tcp.leak.signed.test. 300 IN CNAME _25._tcp.mx.plain.test.',
  'loop.signed.test. 300 IN A 127.0.0.1',
  '_25._tcp.loop.signed.test. 300 IN CNAME _loop.signed.test.',
  '_loop.signed.test. 300 IN CNAME _25._tcp.loop.signed.test.',
  // Records whose signatures are wrong.
  'forged.signed.test. 300 IN A 127.0.0.66',
  'half.signed.test. 300 IN A 127.0.0.1',
  'half.signed.test. 300 IN AAAA 2001:db8::66',
  line('half.signed.test', 3, 'half'),
  'forged-tlsa.signed.test. 300 IN A 127.0.0.1',
  `_25._tcp.forged-tlsa.signed.test. 300 IN TLSA 3 1 1 ${'ef'.repeat(32)}`,
  'forged-alias.signed.test. 300 IN CNAME good.plain.test.',
];
const FORGED = {
  '127.0.0.66': '127.0.0.99',
  '2001:db8::66': '2001:db8::99',
  EFEFEFEF: 'EEEEEEEE',
  'good.plain.test.': 'mx.plain.test.',
};
const PLAIN = [
  'plain.test. 300 IN MX 10 mx.signed.test.',
  'mx.plain.test. 300 IN A 127.0.0.1',
  line('mx.plain.test', 3, 'plain'),
  'alias.plain.test. 300 IN CNAME mx.signed.test.',
  line('alias.plain.test', 3, 'alias'),
];
const SECOND = ['mx.second.test. 300 IN A 127.0.0.1', line('mx.second.test', 3, 'second')];
const BOGUS = ['bogus.test. 300 IN A 127.0.0.1', 'bogus.test. 300 IN MX 10 mx.bogus.test.'];
const ZONES = ['signed.test', 'second.test', 'plain.test', 'bogus.test', 'down.test'];

describePeers('with unbound and signed zones in BIND,', ['named', 'dnssec-signzone', 'unbound'], () => {
  let bind: Bind;
  let validating: Unbound;
  let resolver: SecureResolver;
  let anchors: { trusted: string[]; bogus: string };

  const runUnbound = (options: Partial<UnboundOptions> = {}): Promise<Unbound> =>
    startUnbound({
      unbound: findProgram('unbound') ?? '',
      zones: ZONES,
      authorityPort: bind.port,
      anchors: [...anchors.trusted, anchors.bogus],
      ...options,
    });
  const useResolver = (server: string, testNames = { signed: 'signed.test', bogus: 'bogus.test' }): SecureResolver =>
    createSecureResolver({ server, timeoutMs: 20_000, tries: 1, now: () => Date.now(), testNames });

  beforeAll(async () => {
    const signed = signZone('signed.test', SIGNED, { forged: FORGED });
    const second = signZone('second.test', SECOND);
    const bogus = signZone('bogus.test', BOGUS, { isExpired: true });
    anchors = { trusted: [signed.anchor, second.anchor], bogus: bogus.anchor };
    bind = await startBind({
      named: findProgram('named') ?? '',
      zones: { 'plain.test': PLAIN },
      files: { 'signed.test': signed.file, 'second.test': second.file, 'bogus.test': bogus.file },
      broken: ['down.test'],
    });
    validating = await runUnbound();
    resolver = useResolver(validating.server);
  });

  afterAll(async () => {
    resolver?.close();
    await validating?.close();
    await bind?.close();
  });

  test('MX records of a signed domain are secure, and so is their absence', async () => {
    const found = await resolver.mx('Signed.test.');
    expect(found).toMatchObject({ kind: 'found', isSecure: true, canonicalName: 'signed.test' });
    expect(found.kind === 'found' && found.records.toSorted((a, b) => a.preference - b.preference)).toEqual([
      { preference: 10, host: 'mx.signed.test' },
      { preference: 20, host: 'mx.plain.test' },
    ]);
    expect(await resolver.mx('mx.signed.test')).toMatchObject({ kind: 'none', why: 'nodata', isSecure: true });
    expect(await resolver.mx('absent.signed.test')).toMatchObject({ kind: 'none', why: 'nxdomain', isSecure: true });
    expect(await resolver.mx('silent.signed.test')).toMatchObject({
      records: [{ preference: 0, host: '' }],
      isSecure: true,
    });
  });

  test('MX records of an unsigned domain are insecure, and so is their absence', async () => {
    expect(await resolver.mx('plain.test')).toMatchObject({ kind: 'found', isSecure: false });
    expect(await resolver.mx('mx.plain.test')).toMatchObject({ kind: 'none', isSecure: false });
    expect(await resolver.mx('absent.plain.test')).toMatchObject({ kind: 'none', why: 'nxdomain', isSecure: false });
  });

  test.each(['bogus.test', 'down.test', 'unknown.example'])('MX records of %s cannot be looked up', async (domain) => {
    expect(await resolver.mx(domain)).toEqual({ kind: 'failed', reason: 'servfail' });
  });

  test('a name that no message can contain does not exist', async () => {
    expect(await resolver.mx(`${'a'.repeat(64)}.test`)).toMatchObject({ kind: 'none', isSecure: false });
    expect(await findTlsa(resolver, `${'a'.repeat(64)}.test`)).toEqual({ kind: 'none' });
  });

  const records = (base: string, ...list: TlsaRecord[]): HostDane => ({ kind: 'records', base, records: list });
  const sorted = (dane: HostDane): HostDane =>
    dane.kind === 'records'
      ? { ...dane, records: dane.records.toSorted((a, b) => Buffer.compare(a.association, b.association)) }
      : dane;

  test.each<[string, string, HostDane]>([
    ['usable records alone', 'MX.Signed.test.', records('mx.signed.test', tlsa(3, 'mx'), tlsa(2, 'authority'))],
    [
      'records that do not fit into UDP',
      'many.signed.test',
      records('many.signed.test', ...MANY.map((text) => tlsa(3, text))),
    ],
    ['records at an alias', 'shared.signed.test', records('shared.signed.test', tlsa(3, 'shared'))],
    [
      'records at the end of a chain of aliases',
      'alias.signed.test',
      records('mx.signed.test', tlsa(3, 'mx'), tlsa(2, 'authority')),
    ],
    [
      'records at the end of an alias to another signed zone',
      'other-zone.signed.test',
      records('mx.second.test', tlsa(3, 'second')),
    ],
    ['its own records if the end of the chain has none', 'own.signed.test', records('own.signed.test', tlsa(3, 'own'))],
    [
      'its own records if its alias leads to an unsigned zone',
      'away.signed.test',
      records('away.signed.test', tlsa(3, 'away')),
    ],
    ['records although one address family is bogus', 'half.signed.test', records('half.signed.test', tlsa(3, 'half'))],
    [
      'TLS without a check, for records that are not usable',
      'pkix.signed.test',
      { kind: 'unusable', base: 'pkix.signed.test' },
    ],
    ['nothing if its TLSA name does not exist', 'bare.signed.test', { kind: 'none' }],
    ['nothing if its TLSA name has other records', 'other.signed.test', { kind: 'none' }],
    ['nothing if no name of the chain has records', 'bare-alias.signed.test', { kind: 'none' }],
    ['nothing if its alias leads to an unsigned zone', 'away-bare.signed.test', { kind: 'none' }],
    ['nothing if its records are in an unsigned zone', 'leak.signed.test', { kind: 'none' }],
    ['nothing if it is in an unsigned zone', 'mx.plain.test', { kind: 'none' }],
    ['nothing if an alias in an unsigned zone leads to it', 'alias.plain.test', { kind: 'none' }],
    ['nothing if it does not exist in an unsigned zone', 'absent.plain.test', { kind: 'none' }],
  ])('DANE for a host: %s', async (_what, host, expected) => {
    expect(sorted(await findTlsa(resolver, host))).toEqual(sorted(expected));
  });

  test.each([
    ['whose TLSA records are forged', 'forged-tlsa.signed.test', 'TLSA records of _25._tcp.forged-tlsa.signed.test'],
    ['whose TLSA records are a loop of aliases', 'loop.signed.test', 'TLSA records of _25._tcp.loop.signed.test'],
    ['whose address is forged', 'forged.signed.test', 'addresses of forged.signed.test'],
    ['whose alias is forged', 'forged-alias.signed.test', 'addresses of forged-alias.signed.test'],
    ['in a zone with expired signatures', 'mx.bogus.test', 'addresses of mx.bogus.test'],
    ['in a zone whose servers fail', 'mx.down.test', 'addresses of mx.down.test'],
    ['that has no address', 'empty.signed.test', 'empty.signed.test has no address'],
    ['that does not exist', 'absent.signed.test', 'absent.signed.test has no address'],
  ])('a host %s gets no mail', async (_what, host, detail) => {
    expect(await findTlsa(resolver, host)).toMatchObject({
      kind: 'failed',
      detail: expect.stringContaining(detail),
    });
  });

  test('TLSA records of another port are others', async () => {
    expect(await findTlsa(resolver, 'mx.signed.test', 26)).toEqual({ kind: 'none' });
  });

  test('a resolver that validates passes the test', async () => {
    expect(await resolver.selfTest()).toEqual({ kind: 'validates' });
  });

  test('a resolver that does not validate fails the test', async () => {
    await using believing = await runUnbound({ validates: false });
    const secure = useResolver(believing.server);
    expect(await secure.selfTest()).toEqual({
      kind: 'does_not_validate',
      detail: 'it does not mark the signed name signed.test as authentic',
    });
    expect(await findTlsa(secure, 'mx.signed.test')).toEqual({ kind: 'none' });
    secure.close();
  });

  test('a resolver that accepts a bogus answer fails the test', async () => {
    await using partly = await runUnbound({ anchors: anchors.trusted });
    const secure = useResolver(partly.server);
    expect(await secure.selfTest()).toEqual({
      kind: 'does_not_validate',
      detail: 'it accepts the name bogus.test, whose signatures are wrong',
    });
    secure.close();
  });

  test('a resolver with a wrong trust anchor rejects the signed name, which does not mean that it believes forgeries', async () => {
    const other = signZone('signed.test', []);
    await using wrong = await runUnbound({ anchors: [other.anchor, anchors.bogus] });
    const secure = useResolver(wrong.server);
    expect(await secure.selfTest()).toEqual({
      kind: 'rejects_signed',
      detail: 'it rejects the signed name signed.test',
    });
    secure.close();
  });

  test.each([
    ['the signed name', { signed: 'down.test', bogus: 'bogus.test' }, 'down.test could not be looked up (unreachable)'],
    ['the bogus name', { signed: 'signed.test', bogus: 'down.test' }, 'down.test could not be looked up (unreachable)'],
    ['a bogus name that is gone', { signed: 'signed.test', bogus: 'gone.signed.test' }, 'looked up (nxdomain)'],
  ])('the test of a resolver that cannot look up %s proves nothing', async (_what, names, detail) => {
    const secure = useResolver(validating.server, names);
    expect(await secure.selfTest()).toMatchObject({ kind: 'unanswered', detail: expect.stringContaining(detail) });
    secure.close();
  });
});
