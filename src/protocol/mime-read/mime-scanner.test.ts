import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { composeMessage, serializeHeaders } from '../mime/index.ts';
import { MimeScanner, type TextPart } from './mime-scanner.ts';

function scan(text: string, cuts: readonly number[] = []): MimeScanner {
  const bytes = Buffer.from(text, 'latin1');
  const scanner = new MimeScanner();
  const ends = [...cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
  let at = 0;
  for (const end of ends) {
    scanner.update(bytes.subarray(at, end));
    at = end;
  }
  scanner.end();
  return scanner;
}

const contents = (text: string, scanner = scan(text)): string[] =>
  scanner.texts.map(({ start, end }) => text.slice(start, end));

const lines = (...all: string[]): string => `${all.join('\r\n')}\r\n`;

const nested = lines(
  'From: a@example.com',
  'Content-Type: multipart/mixed;',
  ' boundary="out er"',
  '',
  'preamble',
  '--out er',
  'Content-Type: multipart/alternative; boundary=inner',
  '',
  '--inner',
  'Content-Type: text/plain; charset=UTF-8',
  '',
  'plain',
  '--inner ',
  'Content-Type: TEXT/HTML; charset="iso-8859-1"',
  'Content-Transfer-Encoding: Quoted-Printable',
  '',
  '<p>html</p>',
  '',
  '--inner--',
  '--out er',
  'Content-Type: text/plain',
  'Content-Disposition: attachment; filename=a.txt',
  '',
  'attached',
  '--out er',
  'Content-Type: message/rfc822',
  '',
  'Content-Type: text/html',
  '',
  'of another message',
  '--out er--',
  'epilogue',
);

describe('the MIME scanner', () => {
  it('finds the head, the body and the texts, but no attachments or embedded messages', () => {
    const found = scan(nested);
    expect(found.head?.toString()).toBe(
      lines('From: a@example.com', 'Content-Type: multipart/mixed;', ' boundary="out er"'),
    );
    expect(nested.slice(found.bodyStart)).toMatch(/^preamble/);
    expect(contents(nested)).toEqual(['plain', '<p>html</p>\r\n']);
    expect(found.texts).toMatchObject([
      { type: 'text/plain', charset: 'utf-8', encoding: '', isSealed: false },
      { type: 'text/html', charset: 'iso-8859-1', encoding: 'quoted-printable', isSealed: false },
    ]);
    expect(nested.slice(found.texts[1]?.headStart, found.texts[1]?.start)).toMatch(/^Content-Type: TEXT.*\r\n\r\n$/s);
  });

  it.each([
    { why: 'a message without MIME', text: lines('Subject: x', '', 'hello'), texts: ['hello\r\n'] },
    { why: 'a message without a body', text: lines('Subject: x'), texts: [''] },
    { why: 'a message without headers', text: lines('', 'hello'), texts: ['hello\r\n'] },
    { why: 'an empty message', text: '', texts: [''] },
    {
      why: 'a multipart without boundary',
      text: lines('Content-Type: multipart/mixed', '', '--x', '', 'a'),
      texts: [],
    },
    {
      why: 'a multipart without end',
      text: lines(
        'Content-Type: multipart/mixed; boundary=x',
        '',
        '--x',
        '',
        'a',
        '--x',
        'Content-Type: text/html',
        '',
        'b',
      ),
      texts: ['a', 'b\r\n'],
    },
    {
      why: 'a part without empty line',
      text: lines('Content-Type: multipart/mixed; boundary=x', '', '--x', 'Content-Type: text/html', '--x--'),
      texts: [''],
    },
    {
      why: 'a boundary within a line',
      text: lines('Content-Type: multipart/mixed; boundary=x', '', '--x', '', 'a --x', '--xy', '--x--'),
      texts: ['a --x\r\n--xy'],
    },
  ])('reads $why', ({ text, texts }) => {
    expect(contents(text)).toEqual(texts);
  });

  it('marks signed parts', () => {
    const text = lines(
      'Content-Type: multipart/signed; boundary=x',
      '',
      '--x',
      'Content-Type: text/html',
      '',
      'a',
      '--x--',
    );
    expect(scan(text).texts).toMatchObject([{ isSealed: true }]);
  });

  it('gives up on a thousand parts and on endless headers', () => {
    const many = lines('Content-Type: multipart/mixed; boundary=x', '', ...Array<string>(1001).fill('--x\r\n\r\na'));
    expect(scan(many).fault).toBe('it has more than 1000 parts');
    expect(scan(`X: ${'y'.repeat(300_000)}\r\n\r\n`).fault).toBe('its headers have more than 262144 bytes');
    const part = `Content-Type: multipart/mixed; boundary=x\r\n\r\n--x\r\nX: ${'y'.repeat(70_000)}\r\n\r\na`;
    expect(scan(part).fault).toBe('its headers have more than 65536 bytes');
  });

  it('finds the same parts, wherever the message is cut', () => {
    const whole = scan(nested).texts;
    fc.assert(
      fc.property(fc.array(fc.nat(), { maxLength: 20 }), (cuts) => {
        expect(scan(nested, cuts).texts).toEqual(whole);
      }),
    );
  });

  it('finds the parts that our own composer wrote', () => {
    const mailbox = { name: '', local: 'a', domain: 'example.com', address: 'a@example.com', needsSmtpUtf8: false };
    fc.assert(
      fc.property(fc.string(), fc.string(), fc.boolean(), (text, html, hasFile) => {
        const file = { filename: 'a.txt', contentType: 'text/plain', contentId: undefined, content: Buffer.from('x') };
        const { headers, body } = composeMessage({
          from: mailbox,
          to: [mailbox],
          subject: 'x',
          date: new Date(0),
          messageId: 'x@example.com',
          text,
          html,
          boundarySeed: 'seed',
          attachments: hasFile ? [file] : [],
        });
        const message = Buffer.concat([serializeHeaders(headers), Buffer.from('\r\n'), body]).toString('latin1');
        expect(scan(message).texts.map(({ type }: TextPart) => type)).toEqual(['text/plain', 'text/html']);
      }),
    );
  });
});
