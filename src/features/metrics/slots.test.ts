import fc from 'fast-check';
import { expect, it } from 'vitest';
import { QUARTER_MS, slotRangesOf } from './periods.ts';

const DAY = 96;

it('every quarter of a range is read exactly once, by its day or by itself', () => {
  const somewhere = fc.integer({ min: -3 * DAY, max: 60 * DAY });
  fc.assert(
    fc.property(somewhere, fc.integer({ min: 1, max: 20 * DAY }), (first, length) => {
      const period = { from: first * QUARTER_MS, until: (first + length) * QUARTER_MS };
      const read = slotRangesOf([period]).flatMap(({ span, first: from, past }) => {
        const each = span === 15 ? 1 : DAY;
        return Array.from({ length: (past - from) * each }, (_, i) => from * each + i);
      });
      expect(read.toSorted((a, b) => a - b)).toEqual(Array.from({ length }, (_, i) => first + i));
    }),
  );
});

it('a year is read as days, with quarters only at its ends', () => {
  const from = 10 * DAY * QUARTER_MS + 7 * QUARTER_MS;
  const ranges = slotRangesOf([{ from, until: from + 365 * DAY * QUARTER_MS }]);
  expect(ranges.map(({ span, first, past }) => [span, past - first])).toEqual([
    [15, 89],
    [1440, 364],
    [15, 7],
  ]);
});
