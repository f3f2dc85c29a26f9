import { describe, expect, test } from 'vitest';
import { decodeFlowedText } from './flowed-text.ts';
import { readMessage } from './index.ts';

const flowed = (...lines: string[]): string => decodeFlowedText(lines.join('\n'), false);

describe('a text with format=flowed', () => {
  test('is joined as in the example of RFC 3676 section 4.1', () => {
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

  test('has its quotes taken apart by depth, as in the example of RFC 3676 section 4.5', () => {
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

  test('has the marks of a quoted paragraph once', () => {
    expect(flowed('New.', '> A quoted line that goes on and ', '> on and on and ', '> ends.', '')).toBe(
      'New.\n> A quoted line that goes on and on and on and ends.\n',
    );
  });

  test('never joins lines of different quote depth, though the first of them asks for it', () => {
    expect(flowed('> quoted ', 'new ', '>> older ', '> quoted')).toBe('> quoted \nnew \n>> older \n> quoted');
  });

  test('loses one space of stuffing and keeps the others', () => {
    expect(flowed(' From here', ' > is no quote', '  two', '>  two', '> ', '>')).toBe(
      'From here\n> is no quote\n two\n>  two\n>\n>',
    );
  });

  test.each([
    ['of the text', ['a ', '-- ', 'me'], 'a \n-- \nme'],
    ['within a quote', ['> a ', '> -- ', '> me'], '> a \n> -- \n> me'],
    ['that is stuffed', ['a', ' -- ', 'me'], 'a\n-- \nme'],
  ])('has a signature separator %s stand alone', (_, lines, shown) => {
    expect(flowed(...lines)).toBe(shown);
  });

  test('loses the space of each soft break with DelSp=yes', () => {
    const joined = (...lines: string[]): string => decodeFlowedText(lines.join('\r\n'), true);
    expect(joined('你好 ', '世界', 'two  ', 'words', '> a ', '> b', '-- ', 'me')).toBe(
      '你好世界\ntwo words\n> ab\n-- \nme',
    );
  });

  test('ends as it ended', () => {
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
])('a part of type text/plain with %s is read by it', async (parameters, text) => {
  const raw = Buffer.from(`Content-Type: text/plain; ${parameters}\r\n\r\n> one \r\n> two\r\n> three`);
  const limits = { depthMax: 20, headerBytesMax: 10_000, partsMax: 10 };
  expect(await readMessage(raw, limits)).toMatchObject({ text });
});
