import fc from 'fast-check';
import { expect, it } from 'vitest';
import { defused, undefused } from './spreadsheet-cells.ts';

const telling = fc.string({ unit: fc.constantFrom(...'=+-@;,\t\r\n\'" 15a\uFF1D') });

it('an apostrophe is put before a formula wherever a cell can begin, and is removed again on reading', () => {
  fc.assert(
    fc.property(telling, (text) => {
      const safe = defused(text);
      expect(undefused(safe)).toBe(text);
      if (!/^[+-]?[\d.]+$/.test(text)) expect(safe).not.toMatch(/(?:^|[;\t\r\n])[" ]*[=+\-@\uFF1D]/);
    }),
    { numRuns: 2000 },
  );
});

it.each([
  ['a;=1', "a;'=1"],
  [';\t"=1', ';\t\'"=1'],
  ['\t=1', "'\t'=1"],
  ['- a\r\n- b', "'- a\r\n'- b"],
  ['-5', '-5'],
  ['a;-5', "a;'-5"],
  ["a;'=1", "a;''=1"],
  ['', "'"],
  ["O'Neil; Ada", "O'Neil; Ada"],
])('the cell %j is written as %j', (text, safe) => {
  expect([defused(text), undefused(safe)]).toEqual([safe, text]);
});
