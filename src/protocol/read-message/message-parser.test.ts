import fc from 'fast-check';
import PostalMime from 'postal-mime';
import { expect, test, describe } from 'vitest';
import { MessageParser, decodeFlowedText } from './message-parser.ts';
import { readMessage } from './index.ts';

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

test('a body that is decoded in runs of lines equals one that is decoded line by line', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(LINE, END), { maxLength: 40 }), async (lines) => {
      const body = lines.flat().join('');
      const raw = Buffer.from(`From: a@b.example\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n${body}`);
      const options = { forceRfc822Attachments: true };
      const theirs = await PostalMime.parse(raw, options);
      const ours = await new MessageParser(options).parse(raw);
      // We read a multipart without parts as a text or a file.
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

const flowed = (...lines: string[]): string => decodeFlowedText(lines.join('\n'), false);

describe('format=flowed', () => {
  test('flowed lines are joined as in the example of RFC 3676 section 4.1', () => {
    expect(
      flowed(
        "`Take some more tea,' the March Hare said to Alice, very ",
        'earnestly.',
        '',
        "`I've had nothing yet,' Alice replied in an offended ",
        "tone, `so I can't take more.'",
      ),
    ).toBe(
      "`Take some more tea,' the March Hare said to Alice, very earnestly.\n\n`I've had nothing yet,' Alice replied in an offended tone, `so I can't take more.'",
    );
  });

  test('flowed quotes are separated by depth as in the example of RFC 3676 section 4.5', () => {
    expect(
      flowed(
        '>>>Take some more tea.',
        ">>I've had nothing yet, so I can't take more.",
        ">You mean you can't take LESS, it's very easy to take ",
        '>MORE than nothing.',
      ),
    ).toBe(
      [
        '>>> Take some more tea.',
        ">> I've had nothing yet, so I can't take more.",
        "> You mean you can't take LESS, it's very easy to take MORE than nothing.",
      ].join('\n'),
    );
  });

  test('a quoted paragraph has its quote marks once', () => {
    expect(flowed('New.', '> A quoted line that goes on and ', '> on and on and ', '> ends.', '')).toBe(
      'New.\n> A quoted line that goes on and on and on and ends.\n',
    );
  });

  test('lines of different quote depth are never joined, even after a soft break', () => {
    expect(flowed('> quoted ', 'new ', '>> older ', '> quoted')).toBe('> quoted \nnew \n>> older \n> quoted');
  });

  test('space-stuffing removes one space and keeps the others', () => {
    expect(flowed(' From here', ' > is no quote', '  two', '>  two', '> ', '>')).toBe(
      'From here\n> is no quote\n two\n>  two\n>\n>',
    );
  });

  test.each([
    ['of the text', ['a ', '-- ', 'me'], 'a \n-- \nme'],
    ['within a quote', ['> a ', '> -- ', '> me'], '> a \n> -- \n> me'],
    ['with stuffing', ['a', ' -- ', 'me'], 'a\n-- \nme'],
  ])('a signature separator %s stays a line of its own', (_, lines, shown) => {
    expect(flowed(...lines)).toBe(shown);
  });

  test('DelSp=yes removes the space of each soft break', () => {
    const joined = (...lines: string[]): string => decodeFlowedText(lines.join('\r\n'), true);
    expect(joined('你好 ', '世界', 'two  ', 'words', '> a ', '> b', '-- ', 'me')).toBe(
      '你好世界\ntwo words\n> ab\n-- \nme',
    );
  });

  test('a flowed text keeps its last line break, or the lack of one', () => {
    expect([flowed(''), flowed('a'), flowed('a', ''), flowed('a ', ''), flowed('a ')]).toEqual([
      '',
      'a',
      'a\n',
      'a \n',
      'a ',
    ]);
  });
});

test.each([
  ['format=flowed', '> one two\n> three\n'],
  ['format=Flowed; delsp=YES', '> onetwo\n> three\n'],
  ['format=fixed', '> one \n> two\n> three\n'],
])('a text/plain part with %s is read with these parameters', async (parameters, text) => {
  const raw = Buffer.from(`Content-Type: text/plain; ${parameters}\r\n\r\n> one \r\n> two\r\n> three`);
  const limits = { depthMax: 20, headerBytesMax: 10_000, partsMax: 10 };
  expect(await readMessage(raw, limits)).toMatchObject({ text });
});
