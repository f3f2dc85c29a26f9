import fc from 'fast-check';
import PostalMime from 'postal-mime';
import { describe, expect, test } from 'vitest';
import { composeMessage, contentIdFault, contentTypeFault, headerFault, isReservedHeader } from './index.ts';
import { header, input, mailbox, raw } from './sample-message.ts';

const parse = (message: Parameters<typeof raw>[0]) => PostalMime.parse(raw(message));

/** Checks the rules of RFC 5321 and 5322 for every message on the wire. */
const expectTransportable = (message: Buffer): void => {
  const text = message.toString('latin1');
  expect(text.replaceAll('\r\n', '')).not.toMatch(/[\r\n\0\x80-\xff]/);
  expect(text.endsWith('\r\n')).toBe(true);
  expect(Math.max(...text.split('\r\n').map((line) => line.length))).toBeLessThanOrEqual(998);
  // A blank folded line would end the header for a sloppy reader.
  expect(text.slice(0, text.indexOf('\r\n\r\n'))).not.toMatch(/\r\n[ \t]+(?:\r\n|$)/);
};

describe('a header', () => {
  const visible = (text: string): boolean => !/[\p{Cc}\p{Cs}\p{Zl}\p{Zp}]/u.test(text);
  const unicode = fc.string({ unit: 'binary', maxLength: 200 }).filter(visible);
  const ascii = fc.string({ unit: 'binary-ascii', maxLength: 300 }).filter(visible);
  const words = fc
    .array(
      fc.constantFrom(
        'word',
        ' ',
        '  ',
        'ü',
        '日本語',
        '=?x?=',
        '=?UTF-8?Q?decoded?=',
        'a'.repeat(90),
        '"',
        '\\',
        '<',
        '👩‍👩‍👧',
      ),
      {
        maxLength: 40,
      },
    )
    .map((parts) => parts.join(''));
  const text = fc.oneof(unicode, ascii, words);

  test('with any subject can be read back', async () => {
    await fc.assert(
      fc.asyncProperty(text, async (subject) => {
        const message = input({ subject, text: 'a' });
        expectTransportable(raw(message));
        expect((await parse(message)).subject ?? '').toBe(subject);
      }),
      { numRuns: 300 },
    );
  });

  test('with any display names can be read back, in every address field', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(text, { minLength: 1, maxLength: 4 }), async (names) => {
        const people = names.map((name) => ({ ...mailbox('p@example.org'), name: name.trim() }));
        const message = input({ from: people[0]!, to: people, replyTo: people, text: 'a' });
        expectTransportable(raw(message));
        const parsed = await parse(message);
        const expected = people.map(({ name }) => ({ name, address: 'p@example.org' }));
        expect(parsed.from).toEqual(expected[0]);
        expect(parsed.to).toEqual(expected);
        expect(parsed.replyTo).toEqual(expected);
      }),
      { numRuns: 300 },
    );
  });

  test('with any extra value can be read back, and its lines with an encoded-word stay within 76 characters', async () => {
    await fc.assert(
      fc.asyncProperty(unicode, fc.stringMatching(/^X-[A-Za-z]{1,70}$/), async (value, name) => {
        const message = input({ headers: [[name, value]], text: 'a' });
        expectTransportable(raw(message));
        for (const line of raw(message).toString().split('\r\n')) {
          if (line.includes('=?UTF-8?')) expect(line.length).toBeLessThanOrEqual(76);
          for (const [word] of line.matchAll(/=\?UTF-8\?[QB]\?[^?]*\?=/g)) expect(word.length).toBeLessThanOrEqual(75);
        }
      }),
    );
  });

  test.each([
    ['Q', 'The parcel for Mr Müller is on its way, '.repeat(12)],
    ['B', 'こんにちは世界👩‍👩‍👧'.repeat(30)],
  ])('has encoded-words of type %s with at most 75 characters, each of which decodes on its own', (encoding, text) => {
    const words = (header(input({ subject: text }), 'Subject') ?? '').split('\r\n ');
    expect(words.length).toBeGreaterThan(5);
    let decoded = '';
    for (const word of words) {
      expect(word.length).toBeLessThanOrEqual(75);
      const payload = new RegExp(`^=\\?UTF-8\\?${encoding}\\?(\\S+)\\?=$`).exec(word)?.[1] ?? '';
      const spelled = payload.replaceAll('_', ' ').replaceAll('=', '%');
      const part = encoding === 'Q' ? decodeURIComponent(spelled) : Buffer.from(payload, 'base64').toString();
      expect(part).not.toMatch(/\ufffd/);
      decoded += part;
    }
    expect(decoded).toBe(text);
  });

  test('with an ASCII value is only folded, never rewritten', () => {
    const url = `<https://example.com/${'u'.repeat(300)}>`;
    const value = header(
      input({ headers: [['List-Unsubscribe', `<mailto:a@b.c>, ${url}`]], text: 'a' }),
      'List-Unsubscribe',
    );
    expect(value).toBe(`<mailto:a@b.c>,\r\n ${url}`);
  });

  test('stays within 78 columns where white space allows it', () => {
    const value = 'word '.repeat(100).trim();
    for (const line of (header(input({ headers: [['X-Long', value]] }), 'X-Long') ?? '').split('\r\n'))
      expect(line.length).toBeLessThanOrEqual(78);
  });

  test('with a subject of 998 bytes without a space is encoded rather than left too long', () =>
    expectTransportable(raw(input({ subject: 'x'.repeat(998), text: 'a' }))));

  test('with a Unicode name in the caller’s Reply-To is encoded without changing the address', () => {
    const message = input({ headers: [['Reply-To', 'Jürgen <j@example.org>']], text: 'a' });
    expect(header(message, 'Reply-To')).toMatch(/^=\?UTF-8\?.\?\S+\?= <j@example\.org>$/);
  });

  test('from the reply_to field takes precedence over the caller’s Reply-To', () => {
    const { headers } = composeMessage(
      input({ replyTo: [mailbox('a@b.c')], headers: [['reply-to', 'x@y.z']], text: 'a' }),
    );
    expect(headers.filter(([name]) => name.toLowerCase() === 'reply-to')).toEqual([['Reply-To', 'a@b.c']]);
  });
});

describe('a caller may not set the header', () => {
  test.each([
    'From',
    'To',
    'cc',
    'BCC',
    'Resent-Bcc',
    'Subject',
    'date',
    'Message-ID',
    'Return-Path',
    'Received',
    'MIME-Version',
    'Content-Type',
    'content-disposition',
    'DKIM-Signature',
    'DomainKey-Signature',
    'ARC-Seal',
    'Authentication-Results',
    'List-Unsubscribe',
    'LIST-UNSUBSCRIBE-POST',
    'Delivered-To',
    'Received-SPF',
  ])('%s', (name) => {
    expect(isReservedHeader(name)).toBe(true);
    expect(headerFault(name, 'x')).toMatch(/written by the service/);
  });
});

test.each([
  'Reply-To',
  'Sender',
  'References',
  'In-Reply-To',
  'X-Entity-Ref-ID',
  'List-ID',
  'Fromage',
  'X-Content-Type',
  'Importance',
])('a caller may set the header %s', (name) => expect(headerFault(name, 'value')).toBeUndefined());

test.each([
  ['', 'x', /empty name/],
  ['X A', 'x', /printable ASCII/],
  ['X:A', 'x', /printable ASCII/],
  ['X-Ü', 'x', /printable ASCII/],
  ['X-A\r\nBcc', 'x', /printable ASCII/],
  ['X'.repeat(77), 'x', /at most 76/],
  ['X-A', 'a\r\nBcc: x@y.z', /line break/],
  ['X-A', 'a\0', /control/],
  ['X-A', 'a\u2028b', /line break/],
  ['X-A', 'a\ud800', /control/],
  ['X-A', 'ü'.repeat(500), /1000 bytes; at most 998/],
  ['Reply-To', 'Ü a@b.c', /not one mailbox/],
])('the header %j with the value %j is refused', (name, value, fault) =>
  expect(headerFault(name, value)).toMatch(fault),
);

test.each([
  ['X-A', 'a\tb'],
  ['X-A', ''],
  ['X-A', 'Grüße 👋'],
  ['X-A', 'x'.repeat(998)],
  ['Reply-To', 'Ü <a@b.c>'],
])('the header %j with the value %j is accepted', (name, value) => expect(headerFault(name, value)).toBeUndefined());

test('media types and content ids are checked for their syntax', () => {
  for (const type of ['application/pdf', 'text/calendar; method=REQUEST; charset="utf-8"', 'image/svg+xml'])
    expect(contentTypeFault(type)).toBeUndefined();
  for (const type of ['', 'pdf', 'a/b c', 'a/b\r\nX: y', 'a/b; x', `a/${'b'.repeat(300)}`])
    expect(contentTypeFault(type)).toMatch(/type\/subtype/);
  for (const id of ['logo', '<a@b>', 'a@b']) expect(contentIdFault(id)).toBeUndefined();
  for (const id of ['', 'a b', 'a\r\nb', 'ü', '<>']) expect(contentIdFault(id)).toMatch(/printable ASCII/);
});
