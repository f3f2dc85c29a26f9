import fc from 'fast-check';
import PostalMime from 'postal-mime';
import { expect, test } from 'vitest';
import { MessageParser } from './message-parser.ts';

const LINE = fc.constantFrom(
  '',
  'text',
  ' ',
  '--',
  '--b',
  '--b--',
  '--b \t',
  '--bx',
  '--b-',
  '-- b',
  '--c',
  '--c--',
  '--b\rx',
  'a\rb',
  'YWJj',
  'YQ==',
  'Y=W!JjYQ',
  'YWJ',
  'Y',
  '=',
  '==',
  '=C',
  '=3',
  '=C3=',
  '=c3=a4 =',
  '=3D=',
  '= ',
  '\xff=\0',
  'soft=',
  '=C3=A4',
  'x'.repeat(40_000),
  'Content-Type: text/html',
  'Content-Transfer-Encoding: base64',
  'Content-Transfer-Encoding: quoted-printable',
  'Content-Disposition: attachment',
  'Content-Type: message/rfc822',
  'Content-Type: multipart/mixed; boundary=c',
);
const END = fc.constantFrom('\r\n', '\r\n', '\r\n', '\n', '\r\r\n', '\r');

test('a body that is read and decoded in runs of lines equals one that is read line by line', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(LINE, END), { maxLength: 40 }), async (lines) => {
      const body = lines.flat().join('');
      const raw = Buffer.from(`From: a@b.example\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n${body}`);
      const options = { forceRfc822Attachments: true };
      const theirs = await PostalMime.parse(raw, options);
      const ours = await new MessageParser(options).parse(raw);
      // A multipart without parts is a text or a file of ours.
      if (!body.includes('multipart')) expect(ours).toEqual(theirs);
      for (const { content } of theirs.attachments) {
        expect(
          ours.attachments.some((one) =>
            Buffer.from(one.content as ArrayBuffer).equals(new Uint8Array(content as ArrayBuffer)),
          ),
        ).toBe(true);
      }
    }),
    { numRuns: 800 },
  );
});
