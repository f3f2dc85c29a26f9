import { createHash, X509Certificate } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { connect, createServer, type TLSSocket } from 'node:tls';
import { expect, it } from 'vitest';
import { readPeerChain } from '../../src/mail/deliver/smtp-connection.ts';
import { verifyDane, type DaneResult } from '../../src/protocol/dane.ts';
import type { TlsaRecord } from '../../src/protocol/dns/index.ts';
import { issueCertificate, type Issued } from '../rig/issued-certificate.ts';

const DAY_MS = 86_400_000;
const root = issueCertificate({ subject: 'Root', isAuthority: true, days: 3650 });
const middle = issueCertificate({ subject: 'Intermediate', issuer: root, isAuthority: true, days: 60 });
const leaf = issueCertificate({
  subject: 'Server',
  names: ['mx.example', '*.hosts.example'],
  issuer: middle,
  days: 30,
});

const certificate = ({ x509 }: Issued): Buffer => x509.raw;
const publicKey = ({ x509 }: Issued): Buffer => x509.publicKey.export({ type: 'spki', format: 'der' });
const anchor = (selector: number, matching: number, bytes: Buffer): TlsaRecord => ({
  usage: 2,
  selector,
  matching,
  association: matching === 0 ? bytes : createHash('sha256').update(bytes).digest(),
});
const ANCHOR = anchor(1, 1, publicKey(root));

function verify(sent: Issued[], record: TlsaRecord, { names = ['mx.example'], days = 1 } = {}): DaneResult {
  const chain = sent.map(({ x509 }) => x509);
  return verifyDane({ chain, records: [record], names, now: Date.now() + days * DAY_MS });
}

const MATCH = { kind: 'match', usage: 2 };

it.each<[string, Issued[], TlsaRecord]>([
  ['the key of the root', [leaf, middle, root], ANCHOR],
  ['the certificate of the root', [leaf, middle, root], anchor(0, 1, certificate(root))],
  ['the intermediate authority', [leaf, middle], anchor(1, 1, publicKey(middle))],
  ['the root, which is sent before the intermediate authority', [leaf, root, middle], ANCHOR],
  ['the root in full, which is not sent', [leaf, middle], anchor(0, 0, certificate(root))],
  ['the key of the root in full, which is not sent', [leaf, middle], anchor(1, 0, publicKey(root))],
  ['the intermediate authority in full, which is not sent', [leaf], anchor(0, 0, certificate(middle))],
])('DANE-TA matches %s', (_what, sent, record) => {
  expect(verify(sent, record)).toEqual(MATCH);
});

it('the server certificate has to be for one of the names, where a wildcard stands for one label', () => {
  const sent = [leaf, middle, root];
  expect(verify(sent, ANCHOR, { names: ['other.example', 'MX.example.'] })).toEqual(MATCH);
  expect(verify(sent, ANCHOR, { names: ['a.hosts.example'] })).toEqual(MATCH);
  for (const name of ['a.b.hosts.example', 'hosts.example', '.hosts.example', 'Server', '', 'a\0b']) {
    expect(verify(sent, ANCHOR, { names: [name] }).kind, name).toBe('mismatch');
  }
  expect(verify(sent, ANCHOR, { names: ['a.example', 'b.example'] })).toEqual({
    kind: 'mismatch',
    detail: "the server's certificate is not for a.example or b.example",
  });
});

it('each certificate up to the anchor has to be valid now', () => {
  const sent = [leaf, middle, root];
  expect(verify(sent, ANCHOR, { days: 29 })).toEqual(MATCH);
  expect(verify(sent, ANCHOR, { days: 31 })).toMatchObject({ detail: expect.stringContaining('valid from') });
  expect(verify(sent, ANCHOR, { days: -1 }).kind).toBe('mismatch');
  const longer = issueCertificate({ subject: 'Server', names: ['mx.example'], issuer: middle, days: 90 });
  expect(verify([longer, middle, root], ANCHOR, { days: 59 })).toEqual(MATCH);
  expect(verify([longer, middle, root], ANCHOR, { days: 61 }).kind).toBe('mismatch');
  const shortRoot = issueCertificate({ subject: 'Root', isAuthority: true, key: root.key, days: 10 });
  expect(verify([leaf, middle, shortRoot], ANCHOR, { days: 11 }).kind).toBe('mismatch');
});

it('an authority that has not issued the certificate does not match', () => {
  const impostor = issueCertificate({ subject: 'Root', isAuthority: true });
  const forged = issueCertificate({ subject: 'Server', names: ['mx.example'], issuer: impostor });
  expect(verify([forged, root], ANCHOR)).toEqual({
    kind: 'mismatch',
    detail: 'no TLSA record matches a valid chain of certificates',
  });
  expect(verify([forged], anchor(0, 0, certificate(root))).kind).toBe('mismatch');
  expect(verify([forged], anchor(1, 0, publicKey(root))).kind).toBe('mismatch');
  expect(verify([leaf, root], ANCHOR).kind).toBe('mismatch');
});

it('a server cannot issue certificates with its own', () => {
  const server = issueCertificate({ subject: 'Attacker', names: ['attacker.example'], issuer: middle });
  const forged = issueCertificate({ subject: 'Server', names: ['mx.example'], issuer: server });
  expect(verify([forged, server, middle, root], ANCHOR).kind).toBe('mismatch');
});

it('DANE-TA does not match the certificate of the server itself', () => {
  const own = issueCertificate({ subject: 'Server', names: ['mx.example'] });
  expect(verify([own], anchor(1, 1, publicKey(own))).kind).toBe('mismatch');
});

it('certificates of authorities that issued each other end the search', () => {
  const a = issueCertificate({ subject: 'A', isAuthority: true });
  const b = issueCertificate({ subject: 'B', isAuthority: true });
  const ring = [
    issueCertificate({ subject: 'Server', names: ['mx.example'], issuer: a }),
    issueCertificate({ subject: 'A', isAuthority: true, issuer: b, key: a.key }),
    issueCertificate({ subject: 'B', isAuthority: true, issuer: a, key: b.key }),
  ];
  expect(verify(ring, ANCHOR).kind).toBe('mismatch');
});

async function presented(sent: Issued[], use: (socket: TLSSocket) => Promise<void> | void): Promise<void> {
  const server = createServer({ key: leaf.key, cert: sent.map(({ cert }) => cert).join('') }, (socket) => socket.end());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false });
  try {
    await new Promise((resolve, reject) => socket.once('secureConnect', resolve).once('error', reject));
    await use(socket);
  } finally {
    socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  }
}

const subjects = (chain: X509Certificate[]): string[] => chain.map(({ subject }) => subject.replace('CN=', ''));

it.each<[string, Issued[]]>([
  ['alone', [leaf]],
  ['with its intermediate authority', [leaf, middle]],
  ['with the whole chain', [leaf, middle, root]],
  ['with the chain in another order', [leaf, root, middle]],
])('the certificates that a server presents %s are read as they were sent', async (_what, sent) => {
  await presented(sent, (socket) => {
    const chain = readPeerChain(socket);
    expect(subjects(chain)).toEqual(subjects(sent.map(({ x509 }) => x509)));
    const result = verifyDane({ chain, records: [ANCHOR], names: ['mx.example'], now: Date.now() });
    expect(result.kind).toBe(sent.includes(root) ? 'match' : 'mismatch');
  });
});

it('at most ten of the certificates that a server presents are read', async () => {
  await presented([leaf, ...new Array<Issued>(20).fill(middle)], (socket) => {
    expect(readPeerChain(socket)).toHaveLength(10);
  });
});
