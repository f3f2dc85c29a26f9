import fc from 'fast-check';
import { expect, test, describe } from 'vitest';
import { dotStuff, MalformedReply, ReplyParser, replyText } from './index.ts';
import { parseReplyLine } from './reply.ts';

test('dot stuffing doubles dots at line starts, and no others', () => {
  expect(Buffer.concat(dotStuff(Buffer.from('.a\r\n.\r\n..b\r\nc.\r\n'))).toString()).toBe(
    '..a\r\n..\r\n...b\r\nc.\r\n',
  );
  expect(Buffer.concat(dotStuff(Buffer.from('a\n.\r\nRSET\r\n'))).toString()).toBe('a\n..\r\nRSET\r\n');
});

test('a body without leading dots is passed on without a copy', () => {
  const body = Buffer.from('a.b\r\nc\r\n');
  expect(dotStuff(body)).toEqual([body]);
  expect(dotStuff(body)[0]).toBe(body);
});

test('a receiver that removes one dot per line gets the body back', () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom('.', '\r\n', 'a', ' ', '\n')), (parts) => {
      const body = Buffer.from(parts.join(''));
      const stuffed = Buffer.concat(dotStuff(body)).toString();
      expect(stuffed.replace(/(^|\n)\./g, '$1')).toBe(body.toString());
      expect(/(^|\n)\.(?!\.)/.test(stuffed)).toBe(false);
    }),
  );
});

const read = (text: string | Buffer) => new ReplyParser().push(Buffer.from(text as string));

describe('an SMTP reply line', () => {
  test.each([
    ['250 OK', { code: 250, isLast: true, text: 'OK' }],
    ['250', { code: 250, isLast: true, text: '' }],
    ['250-', { code: 250, isLast: false, text: '' }],
    ['250-SIZE 1', { code: 250, isLast: false, text: 'SIZE 1' }],
    ['550 5.1.1 No such user', { code: 550, isLast: true, enhanced: '5.1.1', text: 'No such user' }],
    ['550 5.1.10', { code: 550, isLast: true, enhanced: '5.1.10', text: '' }],
    ['550 4.1.1 odd', { code: 550, isLast: true, text: '4.1.1 odd' }],
    ['220 2.mail.example', { code: 220, isLast: true, text: '2.mail.example' }],
  ])('is read from %j', (line, expected) => expect(parseReplyLine(line)).toEqual(expected));

  test.each(['', '25', '2500 x', '150 x', '650 x', '250x', 'HTTP/1.1 200', ' 250 OK'])(
    'is refused when it is %j',
    (line) => expect(parseReplyLine(line)).toBeUndefined(),
  );
});

test('replies are parsed the same however the stream is cut', () => {
  const stream = Buffer.from('220 hi\r\n250-a\r\n250-b\n250 c\r\n550-5.1.1 Grüße\r\n550 5.1.1 x\r\n');
  const whole = read(stream);
  expect(whole).toEqual([
    { code: 220, lines: ['hi'] },
    { code: 250, lines: ['a', 'b', 'c'] },
    { code: 550, enhanced: '5.1.1', lines: ['Grüße', 'x'] },
  ]);
  fc.assert(
    fc.property(fc.array(fc.nat(stream.length)), (cuts) => {
      const parser = new ReplyParser();
      const at = [0, ...cuts.sort((a, b) => a - b), stream.length];
      const parts = at.slice(1).map((end, index) => stream.subarray(at[index], end));
      expect(parts.flatMap((part) => parser.push(part))).toEqual(whole);
    }),
  );
});

test('a chunk whose buffer the socket reuses does not change a pending line', () => {
  const parser = new ReplyParser();
  const chunk = Buffer.from('250 he');
  parser.push(chunk);
  chunk.fill(0);
  expect(parser.push(Buffer.from('llo\r\n'))).toEqual([{ code: 250, lines: ['hello'] }]);
});

test('a reply that is not UTF-8 is read as Latin-1, and unsafe characters are replaced', () => {
  expect(read(Buffer.from([0x35, 0x35, 0x30, 0x20, 0xfc, 0x1b, 0x5b, 0x0d, 0x0a]))).toEqual([
    { code: 550, lines: ['ü?['] },
  ]);
  expect(read('550 a\u202eb\u2028c\td\r\n')).toEqual([{ code: 550, lines: ['a?b?c d'] }]);
});

describe('a reply that breaks the protocol', () => {
  const catchKind = (text: string): string => {
    try {
      read(text);
    } catch (error) {
      if (error instanceof MalformedReply) return error.kind;
    }
    return 'none';
  };
  test.each([
    ['HTTP/1.1 400 Bad Request\r\n', 'malformed'],
    ['\r\n', 'malformed'],
    ['250-a\r\n550 b\r\n', 'code_changed'],
    [`250 ${'a'.repeat(4093)}\r\n`, 'line_too_long'],
    ['a'.repeat(5000), 'line_too_long'],
    ['250-a\r\n'.repeat(257), 'too_many_lines'],
  ])('%#: %s is refused as %s', (text, kind) => expect(catchKind(text)).toBe(kind));

  test('as too many replies at once is reported after the first ones, and the remaining ones are not read', () => {
    const parser = new ReplyParser();
    expect(parser.push(Buffer.from('250 ok\r\n'.repeat(5000)))).toHaveLength(128);
    expect(parser.fault?.kind).toBe('too_many_replies');
  });

  test('starts beyond the limits, which are accepted themselves', () => {
    expect(catchKind(`250 ${'a'.repeat(4091)}\r\n`)).toBe('none');
    expect(read(`${'250-a\r\n'.repeat(255)}250 a\r\n`)[0]?.lines).toHaveLength(256);
  });

  test('does not hide complete replies before it, and its fault stays', () => {
    const parser = new ReplyParser();
    expect(parser.push(Buffer.from('250 queued\r\ngarbage\r\n'))).toEqual([{ code: 250, lines: ['queued'] }]);
    expect(parser.fault?.kind).toBe('malformed');
    expect(() => parser.push(Buffer.from('250 x\r\n'))).toThrow(MalformedReply);
  });
});

test('a reply is shown on one line', () => {
  expect(replyText({ code: 550, enhanced: '5.1.1', lines: ['No such user', ' here '] })).toBe(
    '550 5.1.1 No such user here',
  );
  expect(replyText({ code: 250, lines: [''] })).toBe('250');
});
