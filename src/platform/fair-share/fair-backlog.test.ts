import { expect, it } from 'vitest';
import { createFairBacklog } from './fair-queue.ts';

it('takes one item of each party in turn, in the order of the party’s own items', () => {
  const backlog = createFairBacklog<string>();
  for (const item of ['a1', 'a2', 'a3', 'b1', 'b2', 'c1']) backlog.push(item, { party: item.charAt(0) });
  expect([backlog.size, backlog.weight]).toEqual([6, 6]);
  expect(backlog.take(4)).toEqual(['a1', 'b1', 'c1', 'a2']);
  expect(backlog.take(4)).toEqual(['b2', 'a3']);
  expect([backlog.take(4), backlog.size, backlog.weight]).toEqual([[], 0, 0]);
});

it('items without a party are taken in the order in which they came', () => {
  const backlog = createFairBacklog<number>();
  for (const item of [1, 2, 3]) backlog.push(item);
  expect([backlog.take(2), backlog.take(2)]).toEqual([[1, 2], [3]]);
});

it('fills what is left with lighter items of others, and begins the next time with what did not fit', () => {
  const backlog = createFairBacklog<string>();
  for (const item of ['a1', 'a2', 'a3']) backlog.push(item, { party: 'a', weight: 100 });
  for (const item of ['b1', 'b2', 'b3', 'b4']) backlog.push(item, { party: 'b' });
  expect(backlog.take(202)).toEqual(['a1', 'b1', 'a2', 'b2']);
  backlog.push('a4', { party: 'a', weight: 100 });
  expect(backlog.take(101)).toEqual(['a3', 'b3']);
  expect(backlog.take(50)).toEqual(['a4']);
  expect(backlog.take(50)).toEqual(['b4']);
});

it('has a party’s later items come after its others, and not after those of other parties', () => {
  const backlog = createFairBacklog<string>();
  backlog.push('page', { party: 'a', weight: 10, isLater: true });
  for (const item of ['a1', 'a2']) backlog.push(item, { party: 'a' });
  for (const item of ['b1', 'b2', 'b3', 'b4']) backlog.push(item, { party: 'b' });
  expect(backlog.take(100)).toEqual(['a1', 'b1', 'a2', 'b2', 'page', 'b3', 'b4']);
});

it('takes a later item after four times its weight, however many others of its party keep coming', () => {
  const backlog = createFairBacklog<string>();
  for (const item of ['page1', 'page2']) backlog.push(item, { party: 'a', weight: 2, isLater: true });
  const taken = Array.from({ length: 20 }, (_, n) => {
    backlog.push(`a${n}`, { party: 'a' });
    return backlog.take(1).join();
  });
  expect(taken.indexOf('page1')).toBe(8);
  expect(taken.indexOf('page2')).toBe(17);
});
