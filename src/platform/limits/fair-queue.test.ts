import { expect, it } from 'vitest';
import { createFairQueue } from './fair-queue.ts';

it('a tenant that adds many items delays only itself', () => {
  const queue = createFairQueue<string>();
  for (const item of ['a1', 'a2', 'a3', 'a4']) queue.push(item, { tenant: 'a' });
  queue.push('b1', { tenant: 'b' });
  expect(queue.shift()).toBe('a1');
  queue.push('c1', { tenant: 'c' });
  queue.push('b2', { tenant: 'b' });
  expect([queue.size, queue.countWaiting('a'), queue.countWaiting('d')]).toEqual([6, 3, 0]);
  expect(Array.from({ length: 7 }, () => queue.shift())).toEqual(['b1', 'a2', 'c1', 'b2', 'a3', 'a4', undefined]);
  expect(queue.size).toBe(0);
});

it('an item can be put ahead of the other items of its tenant', () => {
  const queue = createFairQueue<string>();
  queue.push('a1', { tenant: 'a' });
  queue.push('b1', { tenant: 'b' });
  queue.push('b0', { tenant: 'b', isFirst: true });
  queue.push('c0', { tenant: 'c', isFirst: true });
  expect(Array.from({ length: 4 }, () => queue.shift())).toEqual(['a1', 'b0', 'c0', 'b1']);
});

it('a fair queue takes one item of each tenant in turn, in the order of the tenant’s own items', () => {
  const backlog = createFairQueue<string>();
  for (const item of ['a1', 'a2', 'a3', 'b1', 'b2', 'c1']) backlog.push(item, { tenant: item.charAt(0) });
  expect([backlog.size, backlog.weight]).toEqual([6, 6]);
  expect(backlog.take(4)).toEqual(['a1', 'b1', 'c1', 'a2']);
  expect(backlog.take(4)).toEqual(['b2', 'a3']);
  expect([backlog.take(4), backlog.size, backlog.weight]).toEqual([[], 0, 0]);
});

it('a fair queue takes items without a tenant in the order of their arrival', () => {
  const backlog = createFairQueue<number>();
  for (const item of [1, 2, 3]) backlog.push(item);
  expect([backlog.take(2), backlog.take(2)]).toEqual([[1, 2], [3]]);
});

it('a fair queue fills the remaining weight with lighter items of other tenants, and starts the next round with the item that did not fit', () => {
  const backlog = createFairQueue<string>();
  for (const item of ['a1', 'a2', 'a3']) backlog.push(item, { tenant: 'a', weight: 100 });
  for (const item of ['b1', 'b2', 'b3', 'b4']) backlog.push(item, { tenant: 'b' });
  expect(backlog.take(202)).toEqual(['a1', 'b1', 'a2', 'b2']);
  backlog.push('a4', { tenant: 'a', weight: 100 });
  expect(backlog.take(101)).toEqual(['a3', 'b3']);
  expect(backlog.take(50)).toEqual(['a4']);
  expect(backlog.take(50)).toEqual(['b4']);
});

it('a fair queue takes a tenant’s later items after its other items, and not after those of other tenants', () => {
  const backlog = createFairQueue<string>();
  backlog.push('page', { tenant: 'a', weight: 10, isLater: true });
  for (const item of ['a1', 'a2']) backlog.push(item, { tenant: 'a' });
  for (const item of ['b1', 'b2', 'b3', 'b4']) backlog.push(item, { tenant: 'b' });
  expect(backlog.take(100)).toEqual(['a1', 'b1', 'a2', 'b2', 'page', 'b3', 'b4']);
});

it('a fair queue takes a later item after four times its weight, however many other items its tenant adds', () => {
  const backlog = createFairQueue<string>();
  for (const item of ['page1', 'page2']) backlog.push(item, { tenant: 'a', weight: 2, isLater: true });
  const taken = Array.from({ length: 20 }, (_, n) => {
    backlog.push(`a${n}`, { tenant: 'a' });
    return backlog.take(1).join();
  });
  expect(taken.indexOf('page1')).toBe(8);
  expect(taken.indexOf('page2')).toBe(17);
});

it('an item that is removed no longer counts, and the other items keep their order', () => {
  const queue = createFairQueue<string>();
  queue.push('a1', { tenant: 'a', weight: 5 });
  for (const item of ['b1', 'b2']) queue.push(item, { tenant: 'b' });
  queue.push('b3', { tenant: 'b', weight: 2, isLater: true });
  expect([queue.remove('b1', 'b'), queue.remove('b1', 'b'), queue.remove('a1', 'c')]).toEqual([true, false, false]);
  expect([queue.size, queue.weight, queue.peek()]).toEqual([3, 8, 'a1']);
  expect([queue.remove('a1', 'a'), queue.remove('b3', 'b'), queue.shift()]).toEqual([true, true, 'b2']);
  expect([queue.size, queue.weight, queue.peek()]).toEqual([0, 0, undefined]);
});
