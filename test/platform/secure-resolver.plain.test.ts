import { createSocket } from 'node:dgram';
import { expect, it } from 'vitest';
import { createSecureResolver, findTlsa, type SecureResolver } from '../../src/platform/resolver/index.ts';
import {
  CLASSES,
  decodeMessage,
  encodeMessage,
  RECORD_TYPES,
  type DnsMessage,
  type DnsRecord,
  type RecordData,
} from '../../src/protocol/dns/index.ts';
import { startDns } from '../rig/dns.ts';

const create = (server: string, now: () => number = () => 0): SecureResolver =>
  createSecureResolver({ server, timeoutMs: 20_000, tries: 1, now });

it('answers are cached for their TTL, and failures are not', async () => {
  const dns = await startDns({ 'a.test': { MX: ['10 mx.a.test'] }, 'broken.test': { ANY: 'SERVFAIL' } });
  let now = 0;
  const resolver = create(dns.server, () => now);
  const first = await resolver.mx('a.test');
  expect(first).toEqual({
    kind: 'found',
    records: [{ preference: 10, host: 'mx.a.test' }],
    ttlSeconds: 60,
    isSecure: false,
    canonicalName: 'a.test',
  });
  now = 59_999;
  expect(await resolver.mx('A.TEST.')).toEqual(first);
  expect(dns.queries).toHaveLength(1);
  now = 60_000;
  await resolver.mx('a.test');
  expect(dns.queries).toHaveLength(2);
  for (let i = 0; i < 2; i++) expect(await resolver.mx('broken.test')).toEqual({ kind: 'failed', reason: 'servfail' });
  expect(dns.queries).toHaveLength(4);
  resolver.close();
  await dns.close();
});

it('callers that ask for the same name at the same time share one look-up', async () => {
  const dns = await startDns({ 'a.test': { A: ['192.0.2.1'] } });
  const resolver = create(dns.server);
  const release = dns.hold();
  const asked = Array.from({ length: 5 }, () => resolver.addresses('a.test'));
  release();
  for (const answer of await Promise.all(asked)) {
    expect(answer).toMatchObject({ kind: 'found', records: { v4: ['192.0.2.1'], v6: [] } });
  }
  expect(dns.queries.map(({ type }) => type).sort()).toEqual(['A', 'AAAA']);
  resolver.close();
  await dns.close();
});

it('addresses that only one family has are found although the other fails', async () => {
  const dns = await startDns({
    'v4.test': { A: ['192.0.2.1'], AAAA: 'SERVFAIL' },
    'v6.test': { A: 'SERVFAIL', AAAA: ['2001:db8::1'] },
    'none.test': { A: 'SERVFAIL', TXT: ['x'] },
    'alias.test': { CNAME: ['v4.test'] },
  });
  const resolver = create(dns.server);
  expect(await resolver.addresses('v4.test')).toMatchObject({ records: { v4: ['192.0.2.1'], v6: [] } });
  expect(await resolver.addresses('v6.test')).toMatchObject({ records: { v4: [], v6: ['2001:db8::1'] } });
  expect(await resolver.addresses('none.test')).toEqual({ kind: 'failed', reason: 'servfail' });
  expect(await resolver.addresses('absent.test')).toMatchObject({ kind: 'none', why: 'nxdomain' });
  expect(await resolver.cname('alias.test')).toMatchObject({ kind: 'found', records: ['v4.test'] });
  resolver.close();
  await dns.close();
});

it('an IP address is not looked up, and DANE does not apply to it', async () => {
  const dns = await startDns();
  const resolver = create(dns.server);
  expect(await resolver.addresses('192.0.2.1')).toMatchObject({ records: { v4: ['192.0.2.1'], v6: [] } });
  for (const host of ['192.0.2.1', '2001:db8::1', 'localhost']) {
    expect(await findTlsa(resolver, host)).toEqual({ kind: 'none' });
  }
  expect(dns.queries).toEqual([]);
  resolver.close();
  await dns.close();
});

it('look-ups of a tenant that are not answered do not keep those of another waiting', async () => {
  const dns = await startDns({ '*': { MX: ['10 mx.test'] }, 'quick.test': { TXT: ['x'], A: ['192.0.2.1'] } });
  const resolver = create(dns.server);
  const release = dns.hold('MX');
  const silent = resolver.forTenant('one');
  const asked = Array.from({ length: 400 }, (_, i) => silent.mx(`${i}.test`));
  // Another question for the same name does not stand in the line of the first tenant either.
  const same = resolver.forTenant('two').mx('399.test');
  await expect.poll(() => dns.queries.some(({ name }) => name === '399.test')).toBe(true);
  expect(await resolver.forTenant('two').addresses('quick.test')).toMatchObject({ records: { v4: ['192.0.2.1'] } });
  release();
  await Promise.all([...asked, same]);
  resolver.close();
  await dns.close();
});

it('a hundred look-ups at the same time cause no warning', async () => {
  const warnings: string[] = [];
  const keep = (warning: Error): void => void warnings.push(warning.message);
  process.on('warning', keep);
  const dns = await startDns({ '*': { MX: ['10 mx.test'] } });
  const resolver = create(dns.server);
  const release = dns.hold();
  const asked = Array.from({ length: 100 }, (_, i) => resolver.forTenant(`team ${i % 10}`).mx(`${i}.test`));
  await expect.poll(() => dns.queries.length).toBe(100);
  release();
  expect((await Promise.all(asked)).filter(({ kind }) => kind === 'found')).toHaveLength(100);
  process.off('warning', keep);
  expect(warnings).toEqual([]);
  resolver.close();
  await dns.close();
});

it('look-ups in progress fail when the resolver is closed', async () => {
  const dns = await startDns({ 'a.test': { MX: 'TIMEOUT' } });
  const resolver = create(dns.server);
  const asked = resolver.mx('a.test');
  await expect.poll(() => dns.queries.length).toBe(1);
  resolver.close();
  expect(await asked).toEqual({ kind: 'failed', reason: 'stopped' });
  expect(await resolver.mx('b.test')).toEqual({ kind: 'failed', reason: 'stopped' });
  await dns.close();
});

it('a resolver that is not there has not been tested', async () => {
  const dns = await startDns();
  await dns.close();
  const resolver = create(dns.server);
  expect(await resolver.mx('a.test')).toEqual({ kind: 'failed', reason: 'unreachable' });
  expect(await resolver.selfTest()).toEqual({
    kind: 'unanswered',
    name: 'signed',
    detail: 'the test name . could not be looked up (unreachable)',
  });
  resolver.close();
});

/** Runs a name server that marks all of its answers as authentic. */
async function answering(
  respond: (question: { name: string; type: number }, asked: DnsMessage) => RecordData[] | DnsRecord[],
  use: (resolver: SecureResolver) => Promise<void>,
): Promise<void> {
  const socket = createSocket('udp4');
  socket.on('message', (bytes, from) => {
    const asked = decodeMessage(bytes);
    const [question] = asked.questions;
    if (!question) return;
    const answers = respond(question, asked).map((one) =>
      'data' in one ? one : { name: question.name, class: CLASSES.IN, ttl: 60, data: one },
    );
    const reply = { ...asked, isAnswer: true, recursionAvailable: true, authenticData: true, additionals: [], answers };
    socket.send(encodeMessage(reply), from.port, from.address);
  });
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve));
  const resolver = create(`127.0.0.1:${socket.address().port}`);
  try {
    await use(resolver);
  } finally {
    resolver.close();
    await new Promise<void>((resolve) => socket.close(() => resolve()));
  }
}

it('each question asks whether the answer is authentic, and lets the resolver validate', async () => {
  const flags: Pick<DnsMessage, 'recursionDesired' | 'authenticData' | 'checkingDisabled'>[] = [];
  const respond = (_question: unknown, { recursionDesired, authenticData, checkingDisabled }: DnsMessage) => {
    flags.push({ recursionDesired, authenticData, checkingDisabled });
    return [{ type: 'A' as const, address: '192.0.2.1' }];
  };
  await answering(respond, async (resolver) => {
    expect(await resolver.addresses('a.test')).toMatchObject({ isSecure: true });
  });
  expect(flags).toEqual(new Array(2).fill({ recursionDesired: true, authenticData: true, checkingDisabled: false }));
});

it('a TLSA record without data does not pass for its absence', async () => {
  const respond = ({ type }: { type: number }): RecordData[] =>
    type === RECORD_TYPES.TLSA
      ? [{ type: 'opaque', number: RECORD_TYPES.TLSA, bytes: Buffer.alloc(0) }]
      : [{ type: 'A', address: '192.0.2.1' }];
  await answering(respond, async (resolver) => {
    expect(await findTlsa(resolver, 'mx.test')).toEqual({
      kind: 'failed',
      detail: 'the TLSA records of _25._tcp.mx.test could not be looked up: malformed',
    });
  });
});

it.each([
  ['a loop of aliases', (i: number) => `${(i + 1) % 3}.test`, 3],
  ['more than ten aliases', (i: number) => `${i + 1}.test`, 12],
])('%s does not pass for absence', async (_what, next, count) => {
  const chain = Array.from({ length: count }, (_, i): DnsRecord => {
    const data = { type: 'CNAME' as const, target: next(i) };
    return { name: `${i}.test`, class: CLASSES.IN, ttl: 60, data };
  });
  await answering(
    () => chain,
    async (resolver) => {
      expect(await resolver.tlsa('0.test')).toEqual({ kind: 'failed', reason: 'malformed' });
    },
  );
});
