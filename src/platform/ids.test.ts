import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createIds, firstIdAt, isUuid, timeOfId } from './ids.ts';

const createClock = (times: number[]) => {
  let at = 0;
  return { now: () => times[Math.min(at++, times.length - 1)] ?? 0, steady: () => 0, timer: () => () => undefined };
};
const someTime = fc.integer({ min: 0, max: 2 ** 48 - 5000 });

describe('an id', () => {
  it('is a UUIDv7 of RFC 9562 in lower case', () => {
    const ids = createIds(createClock([1_700_000_000_000]));
    for (let n = 0; n < 2000; n++) {
      expect(ids.uuid()).toMatch(/^018bcfe5-680[0-9a-f]-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    }
  });

  it('has 62 random bits: its variant bits do not repeat in the next digit', () => {
    const ids = createIds(createClock([1_700_000_000_000]));
    const pairs = new Set(Array.from({ length: 4000 }, () => ids.uuid().slice(19, 21)));
    expect(pairs.size).toBe(64);
  });

  it('contains the millisecond of its creation', () => {
    fc.assert(
      fc.property(someTime, (ms) => {
        expect(timeOfId(createIds(createClock([ms])).uuid())).toBe(ms);
      }),
    );
  });

  it('never sorts before an earlier one, whatever the clock does', () => {
    fc.assert(
      fc.property(fc.array(someTime, { minLength: 2, maxLength: 200 }), (times) => {
        const ids = createIds(createClock(times));
        const made = times.map(() => ids.uuid());
        expect(made.toSorted()).toEqual(made);
        expect(new Set(made).size).toBe(made.length);
      }),
    );
  });

  it('stays in order and unique when thousands are created in one millisecond', () => {
    const ids = createIds(createClock([1_700_000_000_000]));
    const made = Array.from({ length: 10_000 }, () => ids.uuid());
    expect(made.toSorted()).toEqual(made);
    expect(new Set(made).size).toBe(made.length);
    expect(timeOfId(made.at(-1) ?? '') - 1_700_000_000_000).toBeLessThanOrEqual(3);
  });

  it('sorts with a prefix as it does without', () => {
    const ids = createIds(createClock([5, 4, 3, 9]));
    const made = Array.from({ length: 4 }, () => ids.prefixed('sup_'));
    expect(made.toSorted()).toEqual(made);
    expect(made[0]).toMatch(/^sup_[0-9a-f]{32}$/);
  });
});

describe('a range of ids for a range of dates', () => {
  it('starts with an id that is not above any id of its millisecond, and above all earlier ones', () => {
    fc.assert(
      fc.property(someTime, fc.nat({ max: 100_000 }), (ms, earlier) => {
        const id = createIds(createClock([ms])).uuid();
        expect(firstIdAt(ms) <= id).toBe(true);
        expect(firstIdAt(ms + 1) > id).toBe(true);
        expect(timeOfId(firstIdAt(ms))).toBe(ms);
        expect(firstIdAt(Math.max(0, ms - earlier)) <= id).toBe(true);
      }),
    );
  });

  it.each([-1, -Infinity, 2 ** 60, 1.9])('starts with a valid id for the time %d', (ms) => {
    expect(isUuid(firstIdAt(ms))).toBe(true);
  });
});

it.each([
  ['018bcfe5-6800-7000-8000-000000000000', true],
  ['018BCFE5-6800-7000-8000-000000000000', true],
  ['018bcfe568007000800000000000000000', false],
  ['018bcfe5-6800-7000-8000-00000000000g', false],
  ['018bcfe5-6800-7000-8000-000000000000\n', false],
  ['{018bcfe5-6800-7000-8000-000000000000}', false],
  ['', false],
])('isUuid(%j) is %s', (text, expected) => expect(isUuid(text)).toBe(expected));

it('random text has the requested length and does not repeat', () => {
  const ids = createIds(createClock([1]));
  const made = Array.from({ length: 1000 }, () => ids.hex(8));
  expect(made.every((text) => /^[0-9a-f]{16}$/.test(text))).toBe(true);
  expect(new Set(made).size).toBe(1000);
});
