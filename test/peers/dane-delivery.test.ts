import { createHash, X509Certificate } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startBind, type Bind } from '../rig/bind.ts';
import { freePort } from '../rig/free-port.ts';
import { issueCertificate } from '../rig/issued-certificate.ts';
import { startScene, type Scene, type Team } from '../rig/scene.ts';
import { signZone } from '../rig/signed-zone.ts';
import { startSink, type Sink, type SinkOptions } from '../rig/sink.ts';
import { makeCertificate, type Certificate } from '../rig/tls.ts';
import { startUnbound, type Unbound } from '../rig/unbound.ts';
import { connect, logIn } from '../smtp/dialogue.ts';
import { describePeers, findProgram } from './peers.ts';

const keyDigest = ({ cert }: Certificate): string => {
  const { publicKey } = new X509Certificate(cert);
  return createHash('sha256')
    .update(publicKey.export({ type: 'spki', format: 'der' }))
    .digest('hex');
};
const certificateDigest = ({ cert }: Certificate): string =>
  createHash('sha256').update(new X509Certificate(cert).raw).digest('hex');

const own = makeCertificate({ names: ['anything.example'] });
const next = makeCertificate({ names: ['anything.example'] });
const expired = makeCertificate({ notBefore: new Date('2020-01-01'), notAfter: new Date('2021-01-01') });
const authority = issueCertificate({ subject: 'Authority', isAuthority: true });
const issueFor = (name: string): Certificate => {
  const { key, cert } = issueCertificate({ subject: name, names: [name], issuer: authority });
  return { key, cert: cert + authority.cert };
};

/** A mail server with its TLSA records, below the zone of its domain. */
interface Host {
  address: string;
  certificate?: Certificate;
  tlsa?: string[];
  sink?: SinkOptions;
}

const EE = (certificate: Certificate): string => `3 1 1 ${keyDigest(certificate)}`;
const FORGED = 'EF'.repeat(32);

const HOSTS: Record<string, Host> = {
  'ee.signed.test': { address: '127.0.7.1', certificate: own, tlsa: [EE(own)] },
  'expired.signed.test': { address: '127.0.7.2', certificate: expired, tlsa: [EE(expired)] },
  'mismatch.signed.test': { address: '127.0.7.3', certificate: next, tlsa: [EE(own)] },
  'ta.signed.test': {
    address: '127.0.7.4',
    certificate: issueFor('ta.signed.test'),
    tlsa: [`2 0 1 ${certificateDigest(authority)}`],
  },
  'ta-name.signed.test': {
    address: '127.0.7.5',
    certificate: issueFor('elsewhere.signed.test'),
    tlsa: [`2 0 1 ${certificateDigest(authority)}`],
  },
  'ta-domain.signed.test': {
    address: '127.0.7.6',
    certificate: issueFor('to-ta-domain.signed.test'),
    tlsa: [`2 0 1 ${certificateDigest(authority)}`],
  },
  'unusable.signed.test': { address: '127.0.7.7', certificate: next, tlsa: [`1 1 1 ${keyDigest(own)}`] },
  'unusable-plain.signed.test': { address: '127.0.7.8', tlsa: [`0 1 1 ${keyDigest(own)}`], sink: { tls: 'none' } },
  'clear.signed.test': { address: '127.0.7.9', tlsa: [EE(own)], sink: { tls: 'none' } },
  'broken.signed.test': { address: '127.0.7.10', tlsa: [EE(own)], sink: { tls: 'broken-handshake' } },
  'forged.signed.test': { address: '127.0.7.11', certificate: own, tlsa: [`3 1 1 ${FORGED}`] },
  'roll.signed.test': { address: '127.0.7.12', certificate: next, tlsa: [EE(own), EE(next)] },
  'bare.signed.test': { address: '127.0.7.13', certificate: next },
  'target.signed.test': { address: '127.0.7.14', certificate: own, tlsa: [EE(own)] },
  'strict.signed.test': {
    address: '127.0.7.15',
    certificate: own,
    tlsa: [EE(own)],
    sink: { extensions: ['REQUIRETLS'] },
  },
  'mx.plain.test': { address: '127.0.7.16', certificate: next, tlsa: [EE(own)] },
};

const linesBelow = (zone: string): string[] =>
  Object.entries(HOSTS)
    .filter(([name]) => name.endsWith(`.${zone}`))
    .flatMap(([name, { address, tlsa = [] }]) => [
      `${name}. 300 IN A ${address}`,
      ...tlsa.map((record) => `_25._tcp.${name}. 300 IN TLSA ${record}`),
      `to-${name}. 300 IN MX 10 ${name}.`,
    ]);

describePeers('with unbound and signed zones in BIND,', ['named', 'dnssec-signzone', 'unbound'], () => {
  let bind: Bind;
  let unbound: Unbound;
  let scene: Scene;
  let team: Team;
  let from: string;
  const sinks: Sink[] = [];

  beforeAll(async () => {
    const signed = signZone(
      'signed.test',
      [
        ...linesBelow('signed.test'),
        'alias.signed.test. 300 IN CNAME target.signed.test.',
        'to-alias.signed.test. 300 IN MX 10 alias.signed.test.',
        'to-two.signed.test. 300 IN MX 10 mismatch.signed.test.',
        'to-two.signed.test. 300 IN MX 20 ee.signed.test.',
        'to-unsigned.signed.test. 300 IN MX 10 mx.plain.test.',
      ],
      { forged: { EFEFEFEF: 'EEEEEEEE' } },
    );
    const bogus = signZone('bogus.test', ['bogus.test. 300 IN MX 10 ee.signed.test.'], { isExpired: true });
    // The server tests its resolver with these two names.
    const root = signZone('.', []);
    const failed = signZone('dnssec-failed.org', ['dnssec-failed.org. 300 IN A 127.0.0.1'], { isExpired: true });
    bind = await startBind({
      named: findProgram('named') ?? '',
      zones: { 'plain.test': ['plain.test. 300 IN MX 10 mx.plain.test.', ...linesBelow('plain.test')] },
      files: {
        '.': root.file,
        'signed.test': signed.file,
        'bogus.test': bogus.file,
        'dnssec-failed.org': failed.file,
      },
    });
    unbound = await startUnbound({
      unbound: findProgram('unbound') ?? '',
      zones: ['signed.test', 'plain.test', 'bogus.test', 'dnssec-failed.org'],
      authorityPort: bind.port,
      anchors: [root.anchor, signed.anchor, bogus.anchor, failed.anchor],
      unsigned: ['test'],
    });
    const port = await freePort();
    for (const { address, certificate, sink } of Object.values(HOSTS))
      sinks.push(
        await startSink({ host: address, port, tls: 'starttls', ...(certificate ? { certificate } : {}), ...sink }),
      );
    scene = await startScene({
      roles: ['http', 'delivery', 'submission'],
      config: {
        dns: { dnssec_resolver: unbound.server, timeout_ms: 20_000 },
        delivery: { smtp_port: port },
      },
    });
    for (const [name, { address }] of Object.entries(HOSTS)) scene.dns.set(name, 'A', [address]);
    scene.dns.set('alias.signed.test', 'A', ['127.0.7.14']);
    team = await scene.team();
    from = `a@${(await team.domain()).name}`;
  });

  afterAll(async () => {
    await scene?.close();
    for (const sink of sinks) await sink.close();
    await unbound?.close();
    await bind?.close();
  });

  const findSink = (name: string): Sink | undefined => sinks[Object.keys(HOSTS).indexOf(name)];

  async function send(domain: string) {
    const body = { from, to: `x@${domain}`, subject: 's', text: 't' };
    const sent = await scene.api('POST', '/emails', { key: team.key, body });
    await scene.settled();
    const { state } = await scene.account(team, sent.body.id as string);
    const attempts = await scene.api('GET', `/emails/${sent.body.id}/attempts`, { key: team.key });
    return { state, reply: JSON.stringify(attempts.body.data[0] ?? null) };
  }

  test.each([
    ['a certificate whose key a record names, whatever its names', 'ee.signed.test'],
    ['an expired certificate whose key a record names', 'expired.signed.test'],
    ['a certificate of an authority that a record names', 'ta.signed.test'],
    ['a certificate of such an authority for the domain of the recipient', 'ta-domain.signed.test'],
    ['any certificate if no record can be used', 'unusable.signed.test'],
    ['the second of two keys, while keys are changed', 'roll.signed.test'],
    ['any certificate if there are no records', 'bare.signed.test'],
  ])('mail goes over TLS to a server with %s', async (_, host) => {
    expect((await send(`to-${host}`)).state).toBe('delivered');
    expect(findSink(host)?.messages.map(({ tls }) => tls)).toEqual([true]);
  });

  test.each([
    ['a certificate that no record matches', 'mismatch.signed.test', "no TLSA record matches the server's certificate"],
    ['a certificate of a named authority for another name', 'ta-name.signed.test', 'is not for ta-name.signed.test or'],
    ['records and no STARTTLS', 'clear.signed.test', 'offers no STARTTLS'],
    ['records that cannot be used and no STARTTLS', 'unusable-plain.signed.test', 'offers no STARTTLS'],
    ['records and a broken handshake', 'broken.signed.test', 'the TLS handshake'],
    ['records whose signature is wrong', 'forged.signed.test', 'could not be looked up: servfail'],
  ])('no mail goes to a server with %s', async (_, host, says) => {
    const { state, reply } = await send(`to-${host}`);
    expect(state).toBe('delivery_delayed');
    expect(reply).toContain(says);
    expect(findSink(host)?.counts.mail).toBe(0);
  });

  test('mail goes to the second server if the first one fails the check', async () => {
    const before = findSink('ee.signed.test')?.messages.length ?? 0;
    expect((await send('to-two.signed.test')).state).toBe('delivered');
    expect(findSink('ee.signed.test')?.messages.length).toBe(before + 1);
    expect(findSink('mismatch.signed.test')?.counts.mail).toBe(0);
  });

  test('a server that is an alias is checked by the records of the name behind it', async () => {
    expect((await send('to-alias.signed.test')).state).toBe('delivered');
  });

  test('records do not count for a domain whose mail servers are not signed, nor for a server without signed addresses', async () => {
    expect((await send('plain.test')).state).toBe('delivered');
    expect((await send('to-unsigned.signed.test')).state).toBe('delivered');
  });

  test('mail to a domain whose signatures are wrong waits', async () => {
    const { state, reply } = await send('bogus.test');
    expect(state).toBe('delivery_delayed');
    expect(reply).toContain('MX look-up of bogus.test: servfail');
  });

  test('mail that requires TLS (REQUIRETLS) goes to a server that DNSSEC proves', async () => {
    const client = await connect(scene, 'tls');
    await logIn(client, team.key);
    await client.say(`MAIL FROM:<${from}> REQUIRETLS`);
    await client.say('RCPT TO:<x@to-strict.signed.test>');
    await client.say('DATA');
    client.send(`From: ${from}\r\n\r\nSecret.\r\n.\r\n`);
    const id = (await client.reply()).join('').split(' ').at(-1) ?? '';
    client.end();
    await scene.settled();
    expect((await scene.account(team, id)).state).toBe('delivered');
    expect(findSink('strict.signed.test')?.commands.filter((line) => line.endsWith(' REQUIRETLS'))).toHaveLength(1);
  });
});
