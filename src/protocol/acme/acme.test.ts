import { createHash, createPublicKey, generateKeyPairSync, verify, X509Certificate } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { selfSignedCertificate } from '../x509.ts';
import * as acme from './index.ts';

const makeKeys = () => generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
const NOW = Date.parse('2026-11-26T12:00:00Z');
const DAY_MS = 86_400_000;
const json = (value: unknown, more: Partial<acme.RawAnswer> = {}): acme.RawAnswer => ({
  status: 200,
  contentType: 'application/json; charset=utf-8',
  retryAfter: undefined,
  body: Buffer.from(JSON.stringify(value)),
  ...more,
});
const catchFault = (work: () => unknown): string => {
  try {
    return JSON.stringify(work());
  } catch (error) {
    return (error as Error).message;
  }
};
const parse = (text: string): Record<string, string> =>
  JSON.parse(Buffer.from(text, 'base64url').toString()) as Record<string, string>;

describe('a signed ACME request', () => {
  it('names nonce, URL and key, and has a valid signature', () => {
    const { privateKey } = makeKeys();
    const ask = { privateKey, nonce: 'n-1', url: 'https://ca.example/new' };
    const made = acme.signRequest({ ...ask, account: undefined, payload: { a: 1 } });
    const { protected: head = '', payload = '', signature = '' } = JSON.parse(made) as Record<string, string>;
    const { jwk, ...rest } = parse(head) as { jwk?: unknown };
    expect(rest).toEqual({ alg: 'ES256', nonce: 'n-1', url: 'https://ca.example/new' });
    const key = createPublicKey({ key: jwk as never, format: 'jwk' });
    const signed = Buffer.from(`${head}.${payload}`);
    const holds = (bytes: Buffer) =>
      verify('sha256', bytes, { key, dsaEncoding: 'ieee-p1363' }, Buffer.from(signature, 'base64url'));
    expect([holds(signed), holds(Buffer.from(`${head}.x`))]).toEqual([true, false]);
    expect(parse(payload)).toEqual({ a: 1 });
  });

  it('names the account, and has an empty payload for a read', () => {
    const { privateKey } = makeKeys();
    const account = 'https://ca.example/acct/1';
    const made = acme.signRequest({ privateKey, account, nonce: 'n', url: 'https://ca.example/o', payload: undefined });
    const { protected: head = '', payload } = JSON.parse(made) as Record<string, string>;
    expect([parse(head).kid, 'jwk' in parse(head), payload]).toEqual([account, false, '']);
  });

  it.each(['', 'a b', 'a\r\nb', 'ä', 'x'.repeat(513)])('cannot have the nonce %j', (text) => {
    expect(acme.isNonce(text)).toBe(false);
  });
});

describe('the parser of ACME responses', () => {
  const urls = {
    newNonce: 'https://ca.example/n',
    newAccount: 'https://ca.example/a',
    newOrder: 'https://ca.example/o',
  };

  it('reads a directory', () => {
    expect(acme.readDirectory(json(urls))).toEqual({ ...urls, renewalInfo: undefined, needsExternalAccount: false });
  });

  it.each([
    ['HTML', json('', { contentType: 'text/html', body: Buffer.from('<html>') }), /with text\/html/],
    ['no JSON', json('', { body: Buffer.from('{') }), /cannot be read/],
    ['an array', json([]), /no object/],
    ['no newOrder', json({ ...urls, newOrder: undefined }), /newOrder of the directory is missing/],
    ['http', json({ ...urls, newOrder: 'http://ca.example/o' }), /newOrder of the directory must be an https URL/],
  ])('refuses a directory that is %s in one line', (_why, answer, says) => {
    expect(catchFault(() => acme.readDirectory(answer))).toMatch(says);
  });

  it('reads a problem with its subject, cut to one line', () => {
    const type = 'urn:ietf:params:acme:error:rateLimited';
    const more = { status: 429, contentType: 'application/problem+json', retryAfter: '120' };
    const fault = acme.readRefusal(
      'a new order',
      json({ type, detail: `too\u001b[31m many\n${'x'.repeat(9000)}` }, more),
      NOW,
    );
    expect(fault).toMatchObject({ waitMs: 120_000 });
    expect(fault.message).toMatch(/^a new order: too \[31m many x+…$/);
    expect(fault.message.length).toBe(500);
    const short = acme.readRefusal('a new order', json({ type, detail: 'no' }, more), NOW);
    expect(short).toMatchObject({ message: 'a new order: no (rateLimited)', problem: 'rateLimited' });
    const html = json('', { status: 500, contentType: 'text/html' });
    expect(acme.readRefusal('x', html, NOW).message).toBe('x: status 500 without a reason');
  });

  it.each([
    ['120', 120_000],
    ['Thu, 26 Nov 2026 12:01:00 GMT', 60_000],
    ['Thu, 26 Nov 2020 12:01:00 GMT', 0],
    ['9999999999', DAY_MS],
    ['-1', undefined],
    ['soon', undefined],
    [undefined, undefined],
  ])('reads the Retry-After %j', (text, ms) => {
    expect(acme.readRetryAfter(text, NOW)).toBe(ms);
  });
});

describe('an ACME order', () => {
  const names = ['b.example', 'a.example'];
  const identifiers = names.map((value) => ({ type: 'dns', value }));
  const read = (fields: object) => acme.readOrder(json({ identifiers, ...fields }), names);

  it.each([
    [
      { status: 'pending', authorizations: ['https://ca.example/z/1'] },
      { kind: 'prove', authorizations: ['https://ca.example/z/1'] },
    ],
    [
      { status: 'ready', finalize: 'https://ca.example/f' },
      { kind: 'finalize', url: 'https://ca.example/f' },
    ],
    [{ status: 'processing' }, { kind: 'wait' }],
    [
      { status: 'valid', certificate: 'https://ca.example/c' },
      { kind: 'download', url: 'https://ca.example/c' },
    ],
  ])('with %j has a next step', (fields, step) => {
    expect(read(fields)).toEqual(step);
  });

  it.each([
    [{ status: 'invalid', error: { detail: 'CAA forbids' } }, /the order failed: CAA forbids/],
    [{ status: 'ready', identifiers: [{ type: 'dns', value: 'other.example' }] }, /for other.example, not for what/],
  ])('with %j has failed', (fields, says) => {
    expect(read(fields)).toMatchObject({ kind: 'over', fault: { message: expect.stringMatching(says) as string } });
  });

  it.each([
    [{ status: 'odd' }, /status "odd"/],
    [{ status: 'pending', authorizations: [] }, /0 authorizations/],
    [{ status: 'valid', certificate: 'file:///etc/passwd' }, /must be an https URL/],
  ])('with %j is refused', (fields, says) => {
    expect(catchFault(() => read(fields))).toMatch(says);
  });

  const token = 'DGyRejmCefe7v4NfDGDKfA-_x';
  const challenge = { type: 'http-01', status: 'pending', url: 'https://ca.example/ch/1', token };
  const authorization = (fields: object) => json({ identifier: { type: 'dns', value: 'A.example' }, ...fields });

  it('says how a name is proven, or why it was not', () => {
    expect(acme.readAuthorization(authorization({ status: 'pending', challenges: [challenge] }), 'http-01')).toEqual({
      kind: 'pending',
      name: 'a.example',
      challenge: { url: challenge.url, token, isPending: true },
    });
    const inZone = { ...challenge, type: 'dns-01' };
    expect(
      acme.readAuthorization(authorization({ status: 'pending', wildcard: true, challenges: [inZone] }), 'dns-01'),
    ).toMatchObject({ kind: 'pending', name: '*.a.example' });
    const failed = { ...challenge, status: 'invalid', error: { detail: 'connection refused' } };
    const over = acme.readAuthorization(authorization({ status: 'invalid', challenges: [failed] }), 'http-01');
    expect(over).toMatchObject({ fault: { message: 'a.example was not proven: connection refused' } });
  });

  it.each([
    [{ status: 'pending', challenges: [{ ...challenge, token: '../../../../etc/passwd-x' }] }, /no usable token/],
    [{ status: 'pending', challenges: [{ ...challenge, token: 'short' }] }, /no usable token/],
    [{ status: 'pending', challenges: [{ ...challenge, type: 'dns-01' }] }, /offers no http-01 for a.example/],
  ])('with the authorization %j is refused', (fields, says) => {
    expect(catchFault(() => acme.readAuthorization(authorization(fields), 'http-01'))).toMatch(says);
  });
});

describe('an ACME proof', () => {
  it('has a key authorization with the thumbprint of RFC 7638', () => {
    const { privateKey } = makeKeys();
    const { x, y } = createPublicKey(privateKey).export({ format: 'jwk' });
    const hash = createHash('sha256').update(`{"crv":"P-256","kty":"EC","x":"${x}","y":"${y}"}`).digest('base64url');
    expect(acme.keyAuthorization('token', privateKey)).toBe(`token.${hash}`);
  });

  it('has a certificate for TLS-ALPN-01 with the digest in a critical extension', () => {
    const { cert } = acme.alpnCertificate({
      name: 'mail.example.com',
      authorization: 'token.print',
      now: NOW,
      serial: Buffer.alloc(15, 1),
    });
    const read = new X509Certificate(cert);
    expect(read.checkHost('mail.example.com')).toBe('mail.example.com');
    const digest = createHash('sha256').update('token.print').digest('hex');
    // OID, critical, and an octet string in an octet string.
    expect(read.raw.toString('hex')).toContain(`06082b0601050507011f0101ff042204${'20'}${digest}`);
  });
});

describe('a certificate chain', () => {
  const keys = makeKeys();
  const certify = (
    over: { names?: string[]; notAfter?: Date; notBefore?: Date; pair?: ReturnType<typeof makeKeys> } = {},
  ) =>
    selfSignedCertificate({
      names: over.names ?? ['mail.example.com'],
      notBefore: over.notBefore ?? new Date(NOW - DAY_MS),
      notAfter: over.notAfter ?? new Date(NOW + 89 * DAY_MS),
      serial: Buffer.alloc(15, 7),
      ...(over.pair ?? keys),
    });
  const read = (text: string) =>
    acme.readChain(text, { names: ['mail.example.com'], privateKey: keys.privateKey, now: NOW });

  it('that was requested is accepted', () => {
    expect(read(certify())).toMatchObject({ startsAt: NOW - DAY_MS, endsAt: NOW + 89 * DAY_MS });
  });

  it.each([
    ['no certificate', '', /no certificate/],
    ['additional text', `${certify()}\nhello`, /more than certificates/],
    ['damage', certify().replace('MII', 'AAA'), /cannot be read|holds no/],
    ['another key', certify({ pair: makeKeys() }), /another key/],
    ['other names', certify({ names: ['other.example'] }), /is not for mail.example.com/],
    ['a parent name', certify({ names: ['*.example.com'] }), /is not for mail.example.com/],
    ['an end in the past', certify({ notAfter: new Date(NOW - 1000) }), /ended at/],
    [
      'a start a year ahead',
      certify({ notBefore: new Date(NOW + 365 * DAY_MS), notAfter: new Date(NOW + 400 * DAY_MS) }),
      /begins at .*clock/,
    ],
    [
      'a second certificate that did not sign it',
      certify() + certify({ names: ['ca.example'], pair: makeKeys() }),
      /number 2 did not sign number 1/,
    ],
  ])('with %s is refused', (_why, text, says) => {
    expect(catchFault(() => read(text))).toMatch(says);
  });
});

describe('the renewal of a certificate', () => {
  it('is due after two thirds of any lifetime, and at most a twentieth earlier', () => {
    const startsAt = NOW;
    const endsAt = NOW + 90 * DAY_MS;
    expect(acme.renewalTime({ startsAt, endsAt }, 0)).toBe(NOW + 60 * DAY_MS);
    expect(acme.renewalTime({ startsAt, endsAt }, 1)).toBe(NOW + 55.5 * DAY_MS);
    expect(acme.renewalTime({ startsAt, endsAt: startsAt + 6 * DAY_MS }, 0)).toBe(NOW + 4 * DAY_MS);
  });

  it('follows the window that the authority suggests', () => {
    const window = { start: '2026-12-01T00:00:00Z', end: '2026-12-03T00:00:00Z' };
    expect(acme.readRenewalWindow(json({ suggestedWindow: window }), 0.5)).toBe(Date.parse('2026-12-02T00:00:00Z'));
    const turned = { start: window.end, end: window.start };
    expect(acme.readRenewalWindow(json({ suggestedWindow: turned }), 0.5)).toBeUndefined();
    expect(acme.readRenewalWindow(json({}), 0.5)).toBeUndefined();
  });

  it('has the id of the example in RFC 9773', () => {
    // Appendix A of the RFC.
    const pem = `-----BEGIN CERTIFICATE-----
MIIBQzCB66ADAgECAgUAh2VDITAKBggqhkjOPQQDAjAVMRMwEQYDVQQDEwpFeGFt
cGxlIENBMCIYDzAwMDEwMTAxMDAwMDAwWhgPMDAwMTAxMDEwMDAwMDBaMBYxFDAS
BgNVBAMTC2V4YW1wbGUuY29tMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEeBZu
7cbpAYNXZLbbh8rNIzuOoqOOtmxA1v7cRm//AwyMwWxyHz4zfwmBhcSrf47NUAFf
qzLQ2PPQxdTXREYEnKMjMCEwHwYDVR0jBBgwFoAUaYhba4dGQEHhs3uEe6CuLN4B
yNQwCgYIKoZIzj0EAwIDRwAwRAIge09+S5TZAlw5tgtiVvuERV6cT4mfutXIlwTb
+FYN/8oCIClDsqBklhB9KAelFiYt9+6FDj3z4KGVelYM5MdsO3pK
-----END CERTIFICATE-----`;
    expect(acme.renewalId(new X509Certificate(pem))).toBe('aYhba4dGQEHhs3uEe6CuLN4ByNQ.AIdlQyE');
  });
});
