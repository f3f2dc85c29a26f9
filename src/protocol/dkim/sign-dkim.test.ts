import dns from 'node:dns';
import { generateKeyPairSync } from 'node:crypto';
import { createRequire } from 'node:module';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { parseMailbox } from '../address/index.ts';
import { composeMessage, serializeHeaders } from '../mime/index.ts';
import type { HeaderField } from '../mime/index.ts';
import { bodyHash, dkimPublicRecord, signDkim } from './index.ts';
import type { DkimAlgorithm, DkimKey } from './index.ts';

// Neither verifier has types for these modules.
const require = createRequire(import.meta.url);
type Verdict = { status: { result: string; comment?: string }; signingDomain: string };
const { dkimVerify } = require('mailauth/lib/dkim/verify') as {
  dkimVerify: (
    message: Buffer,
    options: { resolver: (name: string) => Promise<string[][]> },
  ) => Promise<{ results: Verdict[] }>;
};
const { DKIMObject, DKIMVerifyStream } = require('haraka-plugin-dkim/lib/dkim.js');

const pair = (selector: string, algorithm: DkimAlgorithm, made: ReturnType<typeof generateKeyPairSync>) => ({
  record: dkimPublicRecord(made.publicKey),
  key: { domain: 'example.com', selector, privateKey: made.privateKey, algorithm } satisfies DkimKey,
});
const rsa1024 = pair('r1', 'rsa-sha256', generateKeyPairSync('rsa', { modulusLength: 1024 }) as never);
const rsa2048 = pair('r2', 'rsa-sha256', generateKeyPairSync('rsa', { modulusLength: 2048 }) as never);
const ed25519 = pair('e1', 'ed25519-sha256', generateKeyPairSync('ed25519') as never);
const pairs = [rsa1024, rsa2048, ed25519];
const keys = pairs.map(({ key }) => key);
const records = new Map(pairs.map(({ key, record }) => [`${key.selector}._domainkey.${key.domain}`, record]));

const resolver = (name: string): Promise<string[][]> => {
  const record = records.get(name);
  return record === undefined
    ? Promise.reject(Object.assign(new Error(name), { code: 'ENOTFOUND' }))
    : Promise.resolve([[record]]);
};

const at = new Date(Date.UTC(2026, 10, 20));
const plainHeaders: HeaderField[] = [
  ['From', 'A <a@example.com>'],
  ['To', 'b@example.org'],
  ['Subject', 'Hi'],
  ['Date', 'Fri, 20 Nov 2026 00:00:00 +0000'],
  ['Message-ID', '<1@example.com>'],
];

const signed = async (
  headers: readonly HeaderField[],
  body: Buffer,
  by: readonly DkimKey[] = keys,
): Promise<Buffer> => {
  const fields = await signDkim({ headers, body, keys: by, at });
  return Buffer.concat([Buffer.from(fields), serializeHeaders(headers), Buffer.from('\r\n'), body]);
};
const verdicts = async (message: Buffer): Promise<string[]> =>
  (await dkimVerify(message, { resolver })).results.map(({ status }) => status.result);
const allPass = ['pass', 'pass', 'pass'];

const headerCases: [why: string, headers: HeaderField[]][] = [
  ['plain', plainHeaders],
  ['folded', [...plainHeaders, ['References', '<a@b>\r\n <c@d>\r\n\t<e@f>']]],
  [
    'runs of spaces and tabs',
    [
      ['From', '  A \t <a@example.com>  '],
      ['Subject', 'a  b\t\tc '],
    ],
  ],
  [
    'an empty value',
    [
      ['From', 'a@example.com'],
      ['Subject', ''],
    ],
  ],
  [
    'a line of white space inside a folded value',
    [
      ['From', 'a@example.com'],
      ['Subject', 'a\r\n  \r\n b'],
    ],
  ],
  [
    'raw UTF-8 with no-break and ideographic spaces',
    [
      ['From', 'a@example.com'],
      ['Subject', '\u00a0Grüße\u3000x\u00a0'],
    ],
  ],
  ['a header that occurs twice', [...plainHeaders, ['To', 'second@example.org'], ['Reply-To', 'r@example.com']]],
  [
    'names in odd letter case',
    [
      ['FROM', 'a@example.com'],
      ['sUbJect', 'x'],
      ['MIME-VERSION', '1.0'],
    ],
  ],
  [
    'one-click unsubscription',
    [
      ...plainHeaders,
      ['List-Unsubscribe', '<https://example.com/u>'],
      ['List-Unsubscribe-Post', 'List-Unsubscribe=One-Click'],
    ],
  ],
];
const bodyCases: [why: string, body: string][] = [
  ['empty', ''],
  ['one line end', '\r\n'],
  ['only white space', ' \t\r\n \r\n'],
  ['no line end', 'a'],
  ['a blank line and a partial last line', 'a\r\n\r\nb'],
  ['blank lines at the end', 'a\r\n\r\n\r\n'],
  ['white space at line ends', 'a \t\r\nb  c\r\n\t\r\nd\r\n'],
  ['lines of white space at the end', 'a\r\n  \r\n\t\r\n'],
  ['UTF-8', 'Grüße\u00a0\r\n'],
  ['base64', `${`${'QUJD'.repeat(19)}\r\n`.repeat(400)}`],
];

describe('mailauth accepts every signature', () => {
  test.each(headerCases)('over these headers: %s', async (_, headers) => {
    expect(await verdicts(await signed(headers, Buffer.from('Hello\r\n')))).toEqual(allPass);
  });

  test.each(bodyCases)('over this body: %s', async (_, body) => {
    expect(await verdicts(await signed(plainHeaders, Buffer.from(body)))).toEqual(allPass);
  });

  test('over random headers and bodies', async () => {
    const text = fc
      .array(fc.constantFrom('a', 'bc', ' ', '\t', '  ', 'ü', '\u00a0', ':', ';', '=', '"'), { maxLength: 15 })
      .map((parts) => parts.join(''));
    const name = fc.constantFrom(
      'Subject',
      'To',
      'Cc',
      'reply-to',
      'X-Other',
      'Sender',
      'List-Id',
      'content-type',
      'References',
    );
    const value = fc
      .tuple(text, text)
      .map(([first, second]) => (second.trim() === '' ? first : `${first}x\r\n ${second}`));
    const body = fc
      .array(fc.constantFrom('a', ' ', '\t', '\r\n', 'ü', 'x'.repeat(80)), { maxLength: 25 })
      .map((parts) => parts.join(''));
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(name, value), { maxLength: 8 }), body, async (fields, content) => {
        const headers: HeaderField[] = [['From', 'a@example.com'], ...fields];
        expect(await verdicts(await signed(headers, Buffer.from(content), [rsa1024.key, ed25519.key]))).toEqual([
          'pass',
          'pass',
        ]);
      }),
      { numRuns: 200 },
    );
  });

  test('over a message of the composer', async () => {
    const from = parseMailbox('"Jürgen, the Sender" <j@example.com>');
    if (!from.ok) throw new Error(from.fault);
    const { headers, body } = composeMessage({
      from: from.mailbox,
      to: Array.from({ length: 20 }, () => from.mailbox),
      subject: 'Grüße '.repeat(30),
      date: at,
      messageId: '1@example.com',
      html: '<p>  Grüße </p>\n\n',
      text: ' . \n\n',
      attachments: [{ filename: 'ä.bin', contentType: 'application/octet-stream', content: Buffer.alloc(100_000, 7) }],
      boundarySeed: 'x',
    });
    expect(await verdicts(await signed(headers, body))).toEqual(allPass);
  });
});

describe('mailauth refuses a message with', () => {
  const message = 'Hello\r\n';
  const tampered = async (change: (text: string) => string): Promise<string[]> => {
    const before = (await signed(plainHeaders, Buffer.from(message))).toString();
    const after = change(before);
    expect(after).not.toBe(before);
    return verdicts(Buffer.from(after));
  };

  test.each<[string, (text: string) => string]>([
    ['a changed body', (text) => text.replace('Hello', 'Hullo')],
    ['a changed subject', (text) => text.replace('Subject: Hi', 'Subject: Ho')],
    ['a second From', (text) => `From: evil@example.net\r\n${text}`],
    ['a second Subject', (text) => `Subject: evil\r\n${text}`],
    ['an added Reply-To', (text) => `Reply-To: evil@example.net\r\n${text}`],
    ['an added Cc', (text) => text.replace('\r\n\r\n', '\r\nCc: evil@example.net\r\n\r\n')],
    ['an added Content-Type', (text) => text.replace('\r\n\r\n', '\r\nContent-Type: text/html\r\n\r\n')],
    ['a changed time', (text) => text.replaceAll(/t=\d+/g, 't=1')],
  ])('%s', async (_, change) => {
    for (const result of await tampered(change)) expect(result).not.toBe('pass');
  });
});

describe('haraka accepts signatures, except for empty bodies and Ed25519, which it gets wrong', () => {
  beforeEach(() => {
    vi.spyOn(dns.promises, 'resolveTxt').mockImplementation(resolver);
    DKIMObject.prototype.debug = () => {};
    DKIMVerifyStream.prototype.debug = () => {};
  });
  afterEach(() => vi.restoreAllMocks());

  const harakaVerdict = (message: Buffer): Promise<string> =>
    new Promise((resolve) => {
      const stream = new DKIMVerifyStream({}, (_: unknown, result: string) => resolve(result));
      stream.write(message);
      stream.end();
    });

  test.each(bodyCases.filter(([, body]) => body.trim() !== ''))('over this body: %s', async (_, body) => {
    expect(await harakaVerdict(await signed(plainHeaders, Buffer.from(body), [rsa2048.key]))).toBe('pass');
  });

  test('and refuses a changed body', async () => {
    const message = (await signed(plainHeaders, Buffer.from('Hello\r\n'), [rsa2048.key])).toString();
    expect(await harakaVerdict(Buffer.from(message.replace('Hello', 'Hullo')))).not.toBe('pass');
  });
});

describe('the DKIM-Signature header', () => {
  test('is folded at 78 columns and names each oversigned header once more than it occurs', async () => {
    const field = await signDkim({ headers: plainHeaders, body: Buffer.from('a'), keys: [rsa2048.key], at });
    for (const line of field.split('\r\n')) expect(line.length).toBeLessThanOrEqual(78);
    const tags = new Map(
      field
        .replace(/^DKIM-Signature: |\r\n ?/g, '')
        .split(';')
        .map((tag) => tag.trim().split(/=(.*)/s) as [string, string]),
    );
    expect(tags.get('h')?.replaceAll(' ', '')).toBe(
      'from:from:to:to:cc:subject:subject:date:date:reply-to:message-id:message-id:mime-version:content-type:content-transfer-encoding',
    );
    expect(tags.get('t')).toBe(String(at.getTime() / 1000));
    expect(tags.get('c')).toBe('relaxed/relaxed');
    expect(tags.get('bh')).toBe(bodyHash(Buffer.from('a')));
  });

  test('is written once per key, in the order of the keys, and not at all without keys', async () => {
    const fields = await signDkim({ headers: plainHeaders, body: Buffer.of(), keys, at });
    expect([...fields.matchAll(/ s=(\w+);/g)].map(([, selector]) => selector)).toEqual(['r1', 'r2', 'e1']);
    expect(await signDkim({ headers: plainHeaders, body: Buffer.of(), keys: [], at })).toBe('');
  });

  test('uses a body hash that the caller already has', async () => {
    const digest = bodyHash(Buffer.from('known'));
    const field = await signDkim({
      headers: plainHeaders,
      body: Buffer.from('other'),
      keys: [ed25519.key],
      at,
      bodyHash: digest,
    });
    expect(field).toContain(`bh=${digest}`);
  });

  test('stays within the line limit for the longest domain', async () => {
    const domain = `${'a'.repeat(63)}.${'b'.repeat(63)}.${'c'.repeat(63)}.example.com`;
    const field = await signDkim({ headers: plainHeaders, body: Buffer.of(), keys: [{ ...ed25519.key, domain }], at });
    for (const line of field.split('\r\n')) expect(line.length).toBeLessThanOrEqual(998);
  });
});

describe('signing fails', () => {
  const sign = (key: DkimKey, headers = plainHeaders) => signDkim({ headers, body: Buffer.of(), keys: [key], at });

  test('with a key that does not fit its algorithm', async () => {
    await expect(sign({ ...rsa2048.key, algorithm: 'ed25519-sha256' })).rejects.toThrow(/is rsa/);
    await expect(sign({ ...ed25519.key, algorithm: 'rsa-sha256' })).rejects.toThrow(/is ed25519/);
  });

  test('with a key so short that verifiers ignore it', async () => {
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 512 });
    await expect(sign({ ...rsa1024.key, privateKey })).rejects.toThrow(/512 bits/);
  });

  test('for a message without From', async () => {
    await expect(sign(rsa2048.key, [['Subject', 'x']])).rejects.toThrow(/From/);
  });

  test('with a key type that DKIM does not know, which has no record either', () => {
    const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    expect(() => dkimPublicRecord(publicKey)).toThrow(/RSA or Ed25519/);
  });
});
