import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { burstsAmong, BURST_LINKS, type TimedClick } from './machine-opens.ts';

const WINDOW = 5000;
const clicks = (...given: [at: number, link: string][]): TimedClick[] =>
  given.map(([at, link], n) => ({ id: String(n), at, link }));
const burst = (...given: [at: number, link: string][]): string => [...burstsAmong(clicks(...given), WINDOW)].join('');

describe('clicks in one email', () => {
  it.each<[string, [number, string][], string]>([
    [
      'three links within five seconds are a burst',
      [
        [0, 'a'],
        [2000, 'b'],
        [5000, 'c'],
      ],
      '012',
    ],
    [
      'a millisecond later the third is none',
      [
        [0, 'a'],
        [2000, 'b'],
        [5001, 'c'],
      ],
      '',
    ],
    [
      'two links are none, however often',
      [
        [0, 'a'],
        [1, 'b'],
        [2, 'a'],
        [3, 'b'],
        [4, 'a'],
      ],
      '',
    ],
    [
      'one link often is none',
      [
        [0, 'a'],
        [1, 'a'],
        [2, 'a'],
        [3, 'a'],
      ],
      '',
    ],
    [
      'repeats within a burst belong to it',
      [
        [0, 'a'],
        [1, 'a'],
        [2, 'b'],
        [3, 'c'],
      ],
      '0123',
    ],
    [
      'what comes long before and after is a person’s',
      [
        [0, 'a'],
        [9000, 'a'],
        [9001, 'b'],
        [9002, 'c'],
        [20_000, 'b'],
      ],
      '123',
    ],
    [
      'a burst may be longer than its window',
      [
        [0, 'a'],
        [3000, 'b'],
        [5000, 'c'],
        [8000, 'd'],
        [13_001, 'a'],
      ],
      '0123',
    ],
  ])('%s', (_, given, expected) => expect(burst(...given)).toBe(expected));

  it('are judged the same in any order, as a look at every window judges them', () => {
    const some = fc.array(fc.tuple(fc.integer({ min: 0, max: 30_000 }), fc.constantFrom('a', 'b', 'c', 'd')), {
      maxLength: 30,
    });
    fc.assert(
      fc.property(some, (given) => {
        const all = clicks(...given);
        const expected = new Set<string>();
        for (const { at: from } of all) {
          const within = all.filter(({ at }) => at >= from && at - from <= WINDOW);
          if (new Set(within.map(({ link }) => link)).size >= BURST_LINKS)
            for (const { id } of within) expected.add(id);
        }
        expect(burstsAmong(all, WINDOW)).toEqual(expected);
        expect(burstsAmong(all.toReversed(), WINDOW)).toEqual(expected);
      }),
    );
  });
});
