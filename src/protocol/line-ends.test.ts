import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createBareLineEnds } from './line-ends.ts';

const whole = (text: string): string | undefined => {
  const ends = createBareLineEnds();
  ends.see(Buffer.from(text, 'latin1'));
  return ends.found();
};

test.each([
  ['', undefined],
  ['a\r\nb\r\n', undefined],
  ['\r\n', undefined],
  ['\n', 'LF'],
  ['\r', 'CR'],
  ['a\r\n.\nb', 'LF'],
  ['a\n.\r\nb', 'LF'],
  ['a\r.\r\nb', 'CR'],
  ['a\r\r\nb', 'CR'],
  ['a\n\r\nb', 'LF'],
  ['a\r\n\r', 'CR'],
])('the first bare line end in %j is %s', (text, bare) => {
  expect(whole(text)).toBe(bare);
});

test('bare line ends are found however the bytes are cut', () => {
  const bytes = fc.array(fc.constantFrom('\r', '\n', '.', 'a'), { maxLength: 30 }).map((all) => all.join(''));
  const cuts = fc.array(fc.nat(5), { minLength: 1, maxLength: 20 });
  fc.assert(
    fc.property(bytes, cuts, (text, sizes) => {
      const ends = createBareLineEnds();
      let at = 0;
      for (let n = 0; at < text.length; n++) {
        const size = (sizes[n % sizes.length] ?? 0) + (n % 2);
        ends.see(Buffer.from(text.slice(at, at + size), 'latin1'));
        at += size;
      }
      const isBare = /\r(?!\n)|(?<!\r)\n/.test(text);
      expect(ends.found() !== undefined).toBe(isBare);
    }),
  );
});
