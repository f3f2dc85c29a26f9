import fc from 'fast-check';
import PostalMime from 'postal-mime';
import { describe, expect, test } from 'vitest';
import { composeMessage, guessContentType, serializeHeaders } from './index.ts';
import type { MessageInput } from './index.ts';
import { composeBody, header, input, mailbox, raw, trimmed } from './sample-message.ts';

const parse = (message: MessageInput) => PostalMime.parse(raw(message));

/** Checks the rules of RFC 5321 and 5322 for every message on the wire. */
const expectTransportable = (message: Buffer): void => {
  const text = message.toString('latin1');
  expect(text.replaceAll('\r\n', '')).not.toMatch(/[\r\n\0\x80-\xff]/);
  expect(text.endsWith('\r\n')).toBe(true);
  expect(Math.max(...text.split('\r\n').map((line) => line.length))).toBeLessThanOrEqual(998);
  // A blank folded line would end the header for a sloppy reader.
  expect(text.slice(0, text.indexOf('\r\n\r\n'))).not.toMatch(/\r\n[ \t]+(?:\r\n|$)/);
};

test('a composed message has exactly these bytes', () => {
  expect(
    raw(
      input({
        html: '<p>Grüße & "Hi"</p>\n',
        text: 'Hi\n.\nFrom me\n',
        cc: [mailbox('"B, C" <c@example.org>')],
        replyTo: [mailbox('Ü <r@example.org>')],
        headers: [['X-Entity-Ref-ID', '7']],
      }),
    ).toString(),
  ).toBe(
    [
      'From: Acme <news@example.com>',
      'To: ann@example.org',
      'Cc: "B, C" <c@example.org>',
      'Reply-To: =?UTF-8?B?w5w=?= <r@example.org>',
      'Subject: Hello',
      'Message-ID: <id-1@example.com>',
      'Date: Thu, 05 Nov 2026 07:08:09 +0000',
      'X-Entity-Ref-ID: 7',
      'MIME-Version: 1.0',
      'Content-Type: multipart/alternative;',
      ' boundary="=_d91bf65986142d5408c942eefc2bb"',
      '',
      '--=_d91bf65986142d5408c942eefc2bb',
      'Content-Type: text/plain; charset=utf-8',
      'Content-Transfer-Encoding: quoted-printable',
      '',
      'Hi',
      '=2E',
      '=46rom me',
      '',
      '--=_d91bf65986142d5408c942eefc2bb',
      'Content-Type: text/html; charset=utf-8',
      'Content-Transfer-Encoding: quoted-printable',
      '',
      '<p>Gr=C3=BC=C3=9Fe & "Hi"</p>',
      '',
      '--=_d91bf65986142d5408c942eefc2bb--',
      '',
    ].join('\r\n'),
  );
});

describe('the MIME structure', () => {
  const shape = (message: MessageInput): string[] =>
    [
      ...raw(message)
        .toString('latin1')
        .matchAll(/^Content-Type: ([^;\r]+)/gm),
    ].map(([, type]) => type ?? '');
  const pdf = { filename: 'a.pdf', contentType: 'application/pdf', content: Buffer.from('pdf') };
  const logo = { filename: 'l.png', contentType: 'image/png', contentId: 'logo', content: Buffer.from('png') };

  test.each<[string, Partial<MessageInput>, string[]]>([
    ['text alone', { text: 'a' }, ['text/plain']],
    ['HTML alone', { html: 'a' }, ['text/html']],
    ['neither text nor HTML', {}, ['text/plain']],
    ['text and HTML', { text: 'a', html: 'b' }, ['multipart/alternative', 'text/plain', 'text/html']],
    ['an inline image', { html: 'b', attachments: [logo] }, ['multipart/related', 'text/html', 'image/png']],
    [
      'an inline image and text',
      { text: 'a', html: 'b', attachments: [logo] },
      ['multipart/alternative', 'text/plain', 'multipart/related', 'text/html', 'image/png'],
    ],
    ['an attachment', { text: 'a', attachments: [pdf] }, ['multipart/mixed', 'text/plain', 'application/pdf']],
    [
      'text, HTML, an inline image and an attachment',
      { text: 'a', html: 'b', attachments: [pdf, logo] },
      [
        'multipart/mixed',
        'multipart/alternative',
        'text/plain',
        'multipart/related',
        'text/html',
        'image/png',
        'application/pdf',
      ],
    ],
    [
      'an inline image without HTML',
      { text: 'a', attachments: [logo] },
      ['multipart/mixed', 'text/plain', 'image/png'],
    ],
  ])('is as expected for %s', (_, changes, expected) => {
    expect(shape(input(changes))).toEqual(expected);
    expectTransportable(raw(input(changes)));
  });

  test('has the id of an inline part in angle brackets, once', async () => {
    const parsed = await parse(
      input({ html: '<img src="cid:logo">', attachments: [logo, { ...logo, contentId: '<b@c>' }] }),
    );
    expect(parsed.attachments.map((part) => [part.contentId, part.disposition])).toEqual([
      ['<logo>', 'inline'],
      ['<b@c>', 'inline'],
    ]);
  });

  test('does not encode an embedded message in base64, and gives an 8-bit one a generic type instead of changing its bytes', () => {
    const eml = {
      filename: 'm.eml',
      contentType: guessContentType('m.eml'),
      content: Buffer.from('Subject: x\r\n\r\nhi\r\n'),
    };
    expect(composeBody(input({ text: 'a', attachments: [eml] }))).toContain(
      'message/rfc822\r\nContent-Transfer-Encoding: 7bit',
    );
    const odd = { ...eml, content: Buffer.from('Subject: ü\n\nhi') };
    expect(composeBody(input({ text: 'a', attachments: [odd] }))).toContain(
      'application/octet-stream\r\nContent-Transfer-Encoding: base64',
    );
  });
});

describe('the recipient headers', () => {
  test('never contain bcc, and say when there is no visible recipient', () => {
    const message = input({ to: [], bcc: [mailbox('secret@example.org')], text: 'a' });
    expect(raw(message).toString()).not.toContain('secret');
    expect(header(message, 'To')).toBe('undisclosed-recipients:;');
    expect(header(input({ to: [], cc: [mailbox('c@example.org')], text: 'a' }), 'To')).toBeUndefined();
  });

  test('with fifty recipients are folded between mailboxes', async () => {
    const to = Array.from({ length: 50 }, (_, index) => mailbox(`Person No ${index} <person${index}@example.org>`));
    const value = header(input({ to, text: 'a' }), 'To') ?? '';
    for (const line of value.split('\r\n ')) expect(line).toMatch(/^(?:Person No \d+ <\S+>,? ?)+$/);
    expect((await parse(input({ to, text: 'a' }))).to).toHaveLength(50);
  });

  test('contain a non-ASCII local part as it is, and flag it', () => {
    const composed = composeMessage(input({ to: [mailbox('jürgen@example.org')], text: 'a' }));
    expect(composed.needsSmtpUtf8).toBe(true);
    expect(serializeHeaders(composed.headers).toString()).toContain('To: jürgen@example.org\r\n');
    expect(composeMessage(input()).needsSmtpUtf8).toBe(false);
  });
});

describe('the encoding of text', () => {
  const readEncoding = (text: string): string | undefined => header(input({ text }), 'Content-Transfer-Encoding');

  test.each([
    ['plain ASCII', 'Hello\r\nworld\r\n', '7bit'],
    ['a line of 998', 'a'.repeat(998), '7bit'],
    ['a line of 999', 'a'.repeat(999), 'quoted-printable'],
    ['some umlauts', 'Viele Grüße aus dem Büro an alle', 'quoted-printable'],
    ['Japanese', 'こんにちは世界', 'base64'],
    ['NUL', 'Hello \0 world, and so on', 'quoted-printable'],
  ])('is chosen for %s', (_, text, encoding) => expect(readEncoding(text)).toBe(encoding));

  test('turns every bare CR or LF into CRLF, so that none can end the message early', () => {
    expect(composeBody(input({ text: 'a\n.\nb\r.\rc\r\n.\r\n' }))).toBe('a\r\n.\r\nb\r\n.\r\nc\r\n.\r\n');
    expect(composeBody(input({ text: 'ü.\n.\r.\r\n.\r\n' + 'long enough to be quoted-printable' }))).toMatch(
      /^=C3=BC\.\r\n=2E\r\n=2E\r\n=2E\r\n/,
    );
  });

  test('as quoted-printable has lines of at most 76 characters that never end in white space', () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom('a', ' ', '\t', '.', '=', 'ü', '\n', '\r', 'From ', 'b'.repeat(30)), {
          maxLength: 120,
        }),
        (parts) => {
          const message = input({ text: `${parts.join('')}é${'x'.repeat(200)}` });
          if (header(message, 'Content-Transfer-Encoding') !== 'quoted-printable') return;
          for (const line of composeBody(message).split('\r\n')) {
            expect(line.length).toBeLessThanOrEqual(76);
            expect(line).not.toMatch(/[ \t]$|^\.|^From /);
          }
        },
      ),
    );
  });

  test('as base64 agrees with Node.js at any length and is wrapped at 76', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 400 }), (bytes) => {
        const content = Buffer.from(bytes);
        const body = composeBody(input({ text: 'a', attachments: [{ filename: 'f', contentType: 'a/b', content }] }));
        const encoded = /filename="f"\r\n\r\n([A-Za-z0-9+/=\r\n]*?)--=_/.exec(body)?.[1] ?? 'none';
        expect(encoded).toBe(
          (content.toString('base64').match(/.{1,76}/g) ?? []).map((line) => `${line}\r\n`).join(''),
        );
      }),
    );
  });

  test('uses no boundary that occurs in the text', () => {
    const first =
      /boundary="([^"]+).";?/.exec(header(input({ text: 'a', html: 'b' }), 'Content-Type') ?? '')?.[1] ?? '';
    const message = input({ text: `--${first}b--\r\n`, html: 'b' });
    expect(header(message, 'Content-Type')).not.toContain(first);
  });
});

describe('a line break that reaches a header throws', () => {
  test.each<[string, Partial<MessageInput>]>([
    ['subject', { subject: 'a\r\nBcc: x@y.z' }],
    ['display name', { from: { ...mailbox('a@b.c'), name: 'a\nb' } }],
    ['address', { to: [{ ...mailbox('a@b.c'), address: 'a@b.c\r\nX: y' }] }],
    ['header value', { headers: [['X-A', 'a\rb']] }],
    ['header name', { headers: [['X-A: b\r\nX-B', 'c']] }],
    ['a header of ours', { headers: [['bCC', 'x@y.z']] }],
    ['a MIME header', { headers: [['Content-Foo', 'x']] }],
    ['message id', { messageId: 'a\r\nb' }],
    ['file name', { attachments: [{ filename: 'a\r\nb', contentType: 'a/b', content: Buffer.of() }] }],
    ['content type', { attachments: [{ filename: 'a', contentType: 'a/b\r\nX: y', content: Buffer.of() }] }],
    ['content id', { attachments: [{ filename: 'a', contentType: 'a/b', contentId: 'a\r\nb', content: Buffer.of() }] }],
    ['NUL', { subject: 'a\0b' }],
  ])('in %s', (_, changes) => expect(() => composeMessage(input({ text: 'a', html: 'b', ...changes }))).toThrow());
});

test('a parser reads bodies and attachments back unchanged', async () => {
  const content = fc.string({ unit: 'binary', maxLength: 300 }).map((text) => text.toWellFormed().replaceAll('\0', ''));
  const filename = fc
    .string({ unit: 'binary', minLength: 1, maxLength: 90 })
    .filter((name) => !/[\p{Cc}\p{Cs}]/u.test(name) && name.trim() === name);
  await fc.assert(
    fc.asyncProperty(content, content, filename, fc.uint8Array({ maxLength: 500 }), async (text, html, name, bytes) => {
      const message = input({
        text,
        html,
        attachments: [{ filename: name, contentType: 'application/x-thing', content: Buffer.from(bytes) }],
      });
      expectTransportable(raw(message));
      const parsed = await parse(message);
      expect(trimmed(parsed.text)).toBe(trimmed(text));
      expect(trimmed(parsed.html)).toBe(trimmed(html));
      expect(parsed.attachments).toHaveLength(1);
      expect(parsed.attachments[0]?.filename).toBe(name);
      expect(Buffer.from(parsed.attachments[0]?.content as ArrayBuffer)).toEqual(Buffer.from(bytes));
    }),
    { numRuns: 300 },
  );
});

test('the same input composes the same bytes, and another seed uses other boundaries', () => {
  const message = input({ text: 'a', html: 'ü' });
  expect(raw(message)).toEqual(raw(input({ text: 'a', html: 'ü' })));
  expect(raw({ ...message, boundarySeed: 'other' })).not.toEqual(raw(message));
});

test('a non-ASCII file name is written twice, by RFC 2231 and in an ASCII form', () => {
  const attachment = { filename: 'Résumé "1" 日本.pdf', contentType: 'application/pdf', content: Buffer.of(1) };
  expect(composeBody(input({ text: 'a', attachments: [attachment] }))).toContain(
    'Content-Disposition: attachment;\r\n filename="Resume \\"1\\" __.pdf";\r\n filename*=UTF-8\'\'R%C3%A9sum%C3%A9%20%221%22%20%E6%97%A5%E6%9C%AC.pdf\r\n',
  );
});

test('a long file name is continued over several parameters, and its ASCII form keeps the extension', () => {
  const attachment = { filename: `${'ü'.repeat(70)}.pdf`, contentType: 'application/pdf', content: Buffer.of(1) };
  const body = composeBody(input({ text: 'a', attachments: [attachment] }));
  expect(body).toMatch(
    /filename="u{56}\.pdf";\r\n filename\*0\*=UTF-8''(?:%C3%BC){8,9};\r\n filename\*1\*=(?:%C3%BC)+;/,
  );
  for (const line of body.split('\r\n')) expect(line.length).toBeLessThanOrEqual(78);
});

test.each([
  ['a.PDF', 'application/pdf'],
  ['a.tar.gz', 'application/gzip'],
  ['noextension', 'application/octet-stream'],
  ['a.constructor', 'application/octet-stream'],
])('the content type of %s is guessed as %s', (name, type) => expect(guessContentType(name)).toBe(type));
