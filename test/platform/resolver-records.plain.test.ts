import { createSocket } from 'node:dgram';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createResolver, type Resolver } from '../../src/platform/resolver/index.ts';
import { decodeMessage, encodeMessage, type DnsMessage } from '../../src/protocol/dns/index.ts';
import { startDns, type DnsRig } from '../rig/dns.ts';

let dns: DnsRig;
let resolver: Resolver;
beforeAll(async () => {
  dns = await startDns({
    'zone.test': {
      SOA: ['NS1.zone.test admin.zone.test 2026112001 300'],
      NS: ['NS1.zone.test', 'ns2.zone.test'],
      CAA: ['0 issue "ca.test; account=1"', '128 issuewild ";"', '0 iodef "mailto:a@zone.test"'],
    },
    'www.zone.test': { A: ['192.0.2.1'] },
    'broken.test': { ANY: 'SERVFAIL' },
  });
  resolver = createResolver({ servers: [dns.server], timeoutMs: 20_000, tries: 1 });
});
afterAll(async () => {
  resolver.close();
  await dns.close();
});

it('CAA records are read with flags, tag and value', async () => {
  expect(await resolver.caa('Zone.test.')).toEqual({
    kind: 'found',
    records: [
      { flags: 0, tag: 'issue', value: 'ca.test; account=1' },
      { flags: 128, tag: 'issuewild', value: ';' },
      { flags: 0, tag: 'iodef', value: 'mailto:a@zone.test' },
    ],
  });
});

it('name servers are read in lower case without a final dot', async () => {
  const found = await resolver.ns('zone.test');
  expect(found.kind === 'found' && [...found.records].sort()).toEqual(['ns1.zone.test', 'ns2.zone.test']);
});

it('the SOA record says how long an absence is cached', async () => {
  expect(await resolver.soa('zone.test')).toEqual({
    kind: 'found',
    records: { primary: 'ns1.zone.test', serial: 2026112001, minimumSeconds: 300 },
  });
});

it.each(['caa', 'ns', 'soa'] as const)(
  'a missing %s record is “none”, and a failed lookup is “failed”',
  async (type) => {
    expect(await resolver[type]('www.zone.test')).toEqual({ kind: 'none', why: 'nodata' });
    expect(await resolver[type]('absent.test')).toEqual({ kind: 'none', why: 'nxdomain' });
    expect(await resolver[type]('broken.test')).toEqual({ kind: 'failed', reason: 'servfail' });
  },
);

it('a name server that was fast before is waited for as long as any other', async () => {
  const socket = createSocket('udp4');
  let timesAsked = 0;
  const answered = (query: DnsMessage) =>
    encodeMessage({
      ...query,
      isAnswer: true,
      additionals: [],
      answers: [{ name: query.questions[0]?.name ?? '.', class: 1, ttl: 60, data: { type: 'TXT', strings: ['here'] } }],
    });
  socket.on('message', (bytes, from) => {
    const query = decodeMessage(bytes);
    const isSlow = query.questions[0]?.name === 'slow.test';
    // The questions that are asked again too soon are lost on a server that is still fetching the answer.
    if (!isSlow || ++timesAsked > 2) socket.send(answered(query), from.port, from.address);
  });
  await new Promise<void>((done) => socket.bind(0, '127.0.0.1', done));
  const { port } = socket.address();
  const patient = createResolver({ servers: [`127.0.0.1:${port}`], timeoutMs: 3000, tries: 2 });
  try {
    for (let i = 0; i < 30; i++) await patient.txt(`fast${i}.test`);
    expect(await patient.txt('slow.test')).toMatchObject({ kind: 'found', records: ['here'] });
    expect(timesAsked).toBe(3);
  } finally {
    patient.close();
    await new Promise<void>((done) => socket.close(() => done()));
  }
});
