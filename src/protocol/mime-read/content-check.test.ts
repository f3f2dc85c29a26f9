import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ContentCheck } from './index.ts';

function findFault(...pieces: string[]): string | undefined {
  const check = new ContentCheck();
  for (const piece of pieces) check.update(Buffer.from(piece));
  check.end();
  return check.fault;
}

describe('the content of a message', () => {
  it.each([
    ['a\r\nb\r\n', undefined],
    ['', undefined],
    ['\r\n\r\n', undefined],
    ['a\r\nb', undefined],
    ['a\nb\r\n', 'line 1 has a LF'],
    ['\n', 'line 1 has a LF'],
    ['a\r\nb\n.\n', 'line 2 has a LF'],
    ['a\r\n\r.\r\n', 'line 2 has a CR'],
    ['a\r', 'line 1 has a CR'],
    ['a\r\r\n', 'line 1 has a CR'],
    ['a\r\n\n', 'line 2 has a LF'],
    ['a\0', 'it has a NUL byte'],
  ])('%j is checked for bare line ends and NUL: %s', (text, says) => {
    const fault = findFault(text);
    if (says === undefined) expect(fault).toBeUndefined();
    else expect(fault).toMatch(new RegExp(`^${says}`));
  });

  it('is checked the same, wherever it is cut', () => {
    const bytes = fc.array(fc.constantFrom('\r', '\n', '\r\n', 'a', '.'), { maxLength: 12 }).map((all) => all.join(''));
    fc.assert(
      fc.property(bytes, fc.nat(), (text, at) => {
        const cut = at % (text.length + 1);
        const fault = findFault(text.slice(0, cut), text.slice(cut));
        const isBare = /(^|[^\r])\n|\r(?!\n)/.test(text);
        expect(fault !== undefined).toBe(isBare);
        expect(findFault(text)).toBe(fault);
      }),
    );
  });
});
