import fc from 'fast-check';
import { expect, test } from 'vitest';
import { dotStuff } from './index.ts';

test('dots at line starts are doubled, and no others', () => {
  expect(Buffer.concat(dotStuff(Buffer.from('.a\r\n.\r\n..b\r\nc.\r\n'))).toString()).toBe(
    '..a\r\n..\r\n...b\r\nc.\r\n',
  );
  expect(Buffer.concat(dotStuff(Buffer.from('a\n.\r\nRSET\r\n'))).toString()).toBe('a\n..\r\nRSET\r\n');
});

test('a body without such lines is passed on, not copied', () => {
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
