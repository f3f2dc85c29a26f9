import { expect, it } from 'vitest';
import { createLargest } from './largest.ts';

interface Entry {
  key: number;
  count: number;
}

function addUp(counts: Iterable<[key: number, count: number]>) {
  const largest = createLargest<Entry>(3, (a, b) => b.count - a.count);
  for (const [key, count] of counts) largest.findOrAdd(String(key), () => ({ key, count: 0 })).count += count;
  return largest;
}

it('the largest entries are kept in their order, however many smaller ones come before and after them', () => {
  const small = Array.from({ length: 100 }, (_, at): [number, number] => [1000 + at, 1]);
  const largest = addUp([[1, 5], ...small, [2, 7], [1, 5], ...small, [3, 6]]);
  expect(largest.list()).toEqual([
    { key: 1, count: 10 },
    { key: 2, count: 7 },
    { key: 3, count: 6 },
  ]);
  expect(largest.hasDropped()).toBe(true);
});

it('nothing is dropped within the limit', () => {
  const largest = addUp([
    [1, 1],
    [2, 5],
    [1, 1],
    [3, 1],
  ]);
  expect(largest.hasDropped()).toBe(false);
  expect(largest.list().map(({ key }) => key)).toEqual([2, 1, 3]);
});
