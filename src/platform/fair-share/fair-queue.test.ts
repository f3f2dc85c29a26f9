import { expect, it } from 'vitest';
import { createFairQueue } from './fair-queue.ts';

it('a party that adds many items waits for itself', () => {
  const queue = createFairQueue<string>();
  for (const item of ['a1', 'a2', 'a3', 'a4']) queue.push('a', item);
  queue.push('b', 'b1');
  expect(queue.shift()).toBe('a1');
  queue.push('c', 'c1');
  queue.push('b', 'b2');
  expect([queue.size, queue.sizeOf('a'), queue.sizeOf('d')]).toEqual([6, 3, 0]);
  expect(Array.from({ length: 7 }, () => queue.shift())).toEqual(['b1', 'a2', 'c1', 'b2', 'a3', 'a4', undefined]);
  expect(queue.size).toBe(0);
});

it('an item may be put ahead of its party’s others', () => {
  const queue = createFairQueue<string>();
  queue.push('a', 'a1');
  queue.push('b', 'b1');
  queue.pushFirst('b', 'b0');
  queue.pushFirst('c', 'c0');
  expect(Array.from({ length: 4 }, () => queue.shift())).toEqual(['a1', 'b0', 'c0', 'b1']);
});
