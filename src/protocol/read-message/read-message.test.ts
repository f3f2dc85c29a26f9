import { addressParser } from 'postal-mime';
import { describe, expect, test } from 'vitest';
import { parseMailbox } from '../address/index.ts';
import { readMessage } from './index.ts';

const LIMITS = { depthMax: 20, headerBytesMax: 10_000, partsMax: 10 };
const read = (...lines: string[]) => readMessage(Buffer.from(lines.join('\r\n'), 'latin1'), LIMITS);
const multipart = (...parts: string[]): string[] => [
  'Content-Type: multipart/mixed; boundary="b b"',
  '',
  ...parts.flatMap((part) => ['--b b', part]),
  '--b b--',
];

describe('a received message', () => {
  test('is read with its sender, recipients, subject and text', async () => {
    const reading = await read(
      'From: =?utf-8?q?J=C3=BCrgen?= <j@example.org>',
      'To: "Doe, Jane" <jane@example.com>, group: a@example.com, b@example.com;',
      'Cc: c@example.com',
      'Reply-To: answers@example.org',
      'Subject: =?utf-8?b?8J+Yig==?= hi',
      'Message-ID: <1@example.org>',
      'Received: one',
      'Received: two',
      '',
      'text',
    );
    expect(reading).toMatchObject({
      isRead: true,
      from: 'Jürgen <j@example.org>',
      to: ['"Doe, Jane" <jane@example.com>', 'a@example.com', 'b@example.com'],
      cc: ['c@example.com'],
      bcc: [],
      replyTo: ['answers@example.org'],
      subject: '😊 hi',
      messageId: '<1@example.org>',
      text: expect.stringContaining('text') as string,
      html: null,
      parts: [],
    });
    expect(reading.isRead && reading.headers['received']).toBe('one\ntwo');
  });

  test('has an embedded message as a part', async () => {
    const reading = await read(
      ...multipart('\r\nouter', 'Content-Type: message/rfc822\r\n\r\nSubject: inner\r\n\r\ninner'),
    );
    expect(reading.isRead && [reading.text?.trim(), reading.parts.length, reading.parts[0]?.contentType]).toEqual([
      'outer',
      1,
      'message/rfc822',
    ]);
  });

  test('has no NUL in any text, and keeps __proto__ as an ordinary header', async () => {
    const reading = await read('Subject: a\0b', '__proto__: x', '', 'c\0d');
    expect(reading).toMatchObject({ subject: 'a b', text: 'c\uFFFDd\n' });
    expect(reading.isRead && [reading.text?.includes('\0'), Object.keys(reading.headers)]).toEqual([
      false,
      ['subject', '__proto__'],
    ]);
  });

  test('has names, a subject and an id of one line each, whatever they decode to', async () => {
    const word = (text: string): string => `=?utf-8?b?${Buffer.from(text).toString('base64')}?=`;
    const reading = await read(
      `From: ${word('a\r\nBcc: b')} <a@example.org>`,
      `Subject: ${word('hi\r\nBcc: x@y\u001b[2J\tand\u2028on')}`,
      'Message-ID: <a\u0007b@example.org>',
      ...multipart(
        "Content-Disposition: attachment; filename*=utf-8''a%0d%0aX:%20y%E2%80%AEfdp.exe\r\nContent-ID: <a\u001bb>\r\n\r\nx",
      ),
    );
    expect(reading).toMatchObject({
      from: expect.stringMatching(/^"?a Bcc: b"? <a@example\.org>$/) as string,
      subject: 'hi Bcc: x@y [2J and on',
      messageId: '<a b@example.org>',
      parts: [{ filename: 'a X: y fdp.exe', contentId: 'a b' }],
    });
  });

  const encoded = `=?utf-8?b?${Buffer.from('ceo@bank.example <ceo@bank.example>, "z"').toString('base64')}?=`;
  test.each([
    ['"Boss <boss@bank.example>" <evil@x.example>', '"Boss <boss@bank.example>" <evil@x.example>'],
    [`${encoded} <evil@x.example>`, '"ceo@bank.example <ceo@bank.example>, \\\"z\\\"" <evil@x.example>'],
    ['"A, B" <h@example.com>', '"A, B" <h@example.com>'],
    ['"a, b"@example.com', '"a, b"@example.com'],
    ['X <"a,b"@example.com>', 'X <"a,b"@example.com>'],
    ['Plain Name <P@Example.COM>', 'Plain Name <P@Example.COM>'],
    ['Jürgen <j@bücher.example>', 'Jürgen <j@bücher.example>'],
    ['root@localhost', 'root@localhost'],
    ['Printer <scan@[192.0.2.1]>', 'Printer <scan@[192.0.2.1]>'],
  ])('with the sender %s has one mailbox, read as every program reads it', async (given, shown) => {
    const reading = await readMessage(Buffer.from(`From: ${given}\r\nTo: ${given}\r\n\r\nx`), LIMITS);
    expect(reading).toMatchObject({ from: shown, to: [shown] });
    const read = addressParser(reading.from);
    expect(read).toEqual([{ name: expect.any(String) as string, address: addressParser(given)[0]?.address }]);
    const isOurs = !reading.from.includes('[');
    expect(parseMailbox(reading.from, { allowSingleLabel: true }).ok).toBe(isOurs);
  });

  test('has a display name that is truncated when it is too long for a line', async () => {
    const { from } = await read(`From: "${'n\\"'.repeat(1000)}" <a@example.org>`, '', 'x');
    expect(parseMailbox(from)).toMatchObject({ ok: true, mailbox: { address: 'a@example.org' } });
  });

  test.each([
    ['"<ceo@bank.example>"', '"<ceo@bank.example>"'],
    ['Just A Name', 'Just A Name'],
    ['undisclosed recipients:;', ''],
  ])('with the sender %s has no address', async (given, shown) => {
    expect((await read(`From: ${given}`, '', 'x')).from).toBe(shown);
  });

  test.each([
    ['text/html; charset=utf-8', 'text/html'],
    ['TEXT/X-Y', 'text/x-y'],
    ['x', 'application/octet-stream'],
    ['a/b/c', 'application/octet-stream'],
    ['ä/b', 'application/octet-stream'],
  ])('has a part of type %s read as %s', async (given, type) => {
    const reading = await read(...multipart(`Content-Type: ${given}\r\nContent-Disposition: attachment\r\n\r\nx`));
    expect(reading.isRead && reading.parts[0]?.contentType).toBe(type);
  });
});

describe('a part with a file name is a file', () => {
  const inline = (type: string, name: string): string =>
    `Content-Type: ${type}; name=${name}\r\nContent-Disposition: inline; filename=${name}\r\n\r\nof ${name}`;
  const TEXT = '\r\nthe text';
  const HTML = 'Content-Type: text/html\r\n\r\n<p>the text</p>';
  const named = (type: string): string => `Content-Type: ${type}; name=x\r\n\r\nnamed`;
  const hidden = (type: string): string =>
    `Content-Type: ${type}\r\nContent-Disposition: attachment; filename=v.exe\r\n\r\nMZ hidden`;
  test.each([
    ['a text that is shown in place', [TEXT, inline('text/plain', 'notes.txt')], ['notes.txt text/plain']],
    ['HTML that is shown in place', [TEXT, inline('text/html', 'p.html')], ['p.html text/html']],
    ['HTML whose type has the name', [TEXT, named('text/html')], ['x text/html']],
    ['the first part', [inline('text/plain', 'a.txt'), TEXT], ['a.txt text/plain']],
    ['a multipart without a boundary', [hidden('multipart/mixed'), TEXT], ['v.exe application/octet-stream']],
    [
      'a multipart whose boundary never comes',
      [TEXT, hidden('multipart/x; boundary=z')],
      ['v.exe application/octet-stream'],
    ],
  ])('when it is %s', async (_, parts, files) => {
    const reading = await read(...multipart(...parts));
    if (!reading.isRead) throw new Error(reading.because);
    expect([reading.text?.trim(), reading.html]).toEqual(['the text', null]);
    expect(reading.parts.map(({ filename, contentType }) => `${filename} ${contentType}`)).toEqual(files);
    expect(reading.parts.map(({ content }) => content.byteLength > 0)).toEqual([true]);
  });

  test.each([
    ['the message itself', ['Content-Type: text/plain; name=a.txt', 'Content-Disposition: inline', '', 'the text']],
    ['the text it begins with', multipart(`Content-Type: text/plain; name=a.txt\r\n${TEXT}`)],
    [
      'one of two forms of a text',
      [
        'Content-Type: multipart/alternative; boundary=b',
        '',
        '--b',
        TEXT,
        '--b',
        HTML.replace('\r\n', '; name=a.html\r\n'),
      ],
    ],
    ['an unnamed multipart without a boundary', multipart('Content-Type: multipart/mixed\r\n\r\nthe text')],
  ])('but not %s', async (_, lines) => {
    const reading = await read(...lines);
    expect(reading).toMatchObject({ text: expect.stringContaining('the text') as string, parts: [] });
  });
});

describe('a multipart without any part shows its body as text', () => {
  test.each([
    ['its boundary never comes', 'Content-Type: multipart/mixed; boundary=other', '--b', '', 'Hé\0', '--b--'],
    ['it names no boundary', 'Content-Type: multipart/alternative', '--b', '', 'Hé\0', '--b--'],
  ])('when %s', async (_, type, ...body) => {
    const raw = Buffer.from(['From: a@example.org', type, '', ...body].join('\r\n'));
    expect(await readMessage(raw, LIMITS)).toMatchObject({ text: '--b\n\nHé\uFFFD\n--b--', html: null, parts: [] });
  });

  test('also within another part', async () => {
    const reading = await read(...multipart('Content-Type: multipart/alternative; boundary=c\r\n\r\n--d\r\n\r\nhello'));
    expect(reading.isRead && reading.text).toContain('hello');
  });

  test.each([
    ['a part that is empty', multipart('\r\n')],
    ['a body of blank lines', ['Content-Type: multipart/mixed; boundary=b', '', '', '  ']],
  ])('and not %s', async (_, lines) => {
    const reading = await read('From: a@example.org', ...lines);
    expect(reading.isRead && (reading.text ?? '').trim()).toBe('');
  });
});

describe('a message with too many', () => {
  const parts = Array.from({ length: 25 }, () => '\r\nx');
  test.each([
    ['parts', multipart(...parts)],
    ['attachments', multipart(...parts.slice(0, 12).map(() => 'Content-Disposition: attachment\r\n\r\nx'))],
    ['headers', [`X: ${'y'.repeat(10_000)}`, '', 'x']],
    ['depth', Array.from({ length: 25 }, (_, n) => `Content-Type: multipart/mixed; boundary=b${n}\r\n\r\n--b${n}`)],
  ])('%s is not parsed, but its header is', async (_, lines) => {
    const reading = await read('From: a@example.org', 'Subject: still', 'Message-ID: <1@a>', ...lines);
    expect(reading).toMatchObject({ isRead: false, from: 'a@example.org', subject: 'still', messageId: '<1@a>' });
  });

  test('lines of hyphens is parsed, because they are no parts', async () => {
    const diff = Array.from({ length: 100 }, () => '--- a/file');
    expect((await read('Subject: x', ...multipart(`\r\n${diff.join('\r\n')}`))).isRead).toBe(true);
  });

  test('flowed lines keeps them apart, while few are joined', async () => {
    const flowed = (lines: number) =>
      read('Content-Type: text/plain; format=flowed', '', 'one ', 'two', 'x \r\n'.repeat(lines));
    const small = await flowed(10);
    const large = await flowed(1_500_000);
    expect(small.isRead && small.text).toMatch(/^one two\n/);
    expect(large.isRead && large.text).toMatch(/^one \ntwo\n/);
  });
});
