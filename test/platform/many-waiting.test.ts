// The work for each of many that wait does not grow with their number. Calls are counted, not time.
import { describe, expect, it } from 'vitest';
import { countCalls } from '../rig/count-calls.ts';
import { BoundedMap } from '../../src/platform/limits/bounded-map.ts';
import { Deque } from '../../src/platform/limits/deque.ts';
import { createFairQueue } from '../../src/platform/limits/fair-queue.ts';
import { createFairShare } from '../../src/platform/limits/fair-share.ts';
import { LeastFirst } from '../../src/platform/limits/least-first.ts';
import type { Release } from '../../src/platform/limits/semaphore.ts';

const turn = (): Promise<void> => new Promise((next) => setImmediate(next));

/** Lets so many holders wait for one unit each, and serves all of them. */
async function serveHolders(count: number): Promise<void> {
  const share = createFairShare(8);
  const releases: Release[] = [];
  for (let at = 0; at < count; at++) void share.acquire(`holder${at}`, 1).then((release) => releases.push(release));
  let served = 0;
  for (await turn(); releases.length > 0; await turn()) {
    for (const release of releases.splice(0)) {
      release();
      served++;
    }
  }
  expect([served, share.used]).toEqual([count, 0]);
}

describe('with many that wait', () => {
  it('a fair share takes about as many calls for each holder', async () => {
    const few = await countCalls(() => serveHolders(500));
    const many = await countCalls(() => serveHolders(4000));
    expect(many).toBeLessThan(12 * few);
  });

  it('a fair queue hands out 200,000 items of one tenant in the order in which they were pushed', () => {
    const queue = createFairQueue<number>();
    for (let at = 0; at < 200_000; at++) queue.push(at, { tenant: 'one' });
    for (let at = 0; at < 200_000; at++) if (queue.shift() !== at) throw new Error(`item ${at} came in another order`);
    expect([queue.size, queue.shift()]).toEqual([0, undefined]);
  });

  it('a bounded map keeps its order when one of its entries is set again and again', () => {
    const map = new BoundedMap<number, number>(50_000);
    for (let key = 0; key < 50_000; key++) map.set(key, key);
    for (let at = 0; at < 200_000; at++) map.set(7, at);
    map.set(50_000, 0);
    expect([map.has(0), map.has(1), [...map.keys()].slice(-2)]).toEqual([false, true, [7, 50_000]]);
  });
});

describe('a fair share', () => {
  it.each([0, -1, NaN])('refuses the amount %d', async (amount) => {
    const share = createFairShare(8);
    expect(() => share.enter('a', amount)).toThrow('amount of a fair share is not positive');
    expect(() => share.leave('a', amount)).toThrow('amount of a fair share is not positive');
    expect(() => share.tryAcquire('a', amount)).toThrow('amount of a fair share is not positive');
    expect(() => share.acquire('a', amount)).toThrow('amount of a fair share is not positive');
    expect([share.used, share.held('a')]).toEqual([0, 0]);
  });

  it('refuses that a holder leaves with more than it has', () => {
    const share = createFairShare(8);
    expect(() => share.leave('a')).toThrow('more leaves a fair share than its holder has: 1 of 0');
    share.enter('a', 2);
    expect(() => share.leave('a', 3)).toThrow('3 of 2');
    expect(share.used).toBe(2);
  });
});

describe('a deque', () => {
  it('has the order of an array, however items join, leave and are removed', () => {
    const deque = new Deque<number>();
    const array: number[] = [];
    for (let at = 0; at < 2000; at++) {
      const step = (at * 7919) % 11;
      if (step < 5) array.push(at);
      if (step < 5) deque.push(at);
      if (step === 5) array.unshift(at);
      if (step === 5) deque.unshift(at);
      if (step === 6) expect(deque.remove((item) => item % 3 === 0)).toBe(array.find((item) => item % 3 === 0));
      if (step === 6 && array.some((item) => item % 3 === 0))
        array.splice(
          array.findIndex((item) => item % 3 === 0),
          1,
        );
      if (step > 6) expect(deque.shift()).toBe(array.shift());
      expect([deque.length, deque.first]).toEqual([array.length, array[0]]);
    }
  });
});

describe('the first place whose number is within a bound', () => {
  it('is found from every place on', () => {
    const numbers = Array.from({ length: 40 }, (_, at) => (at * 31) % 41);
    const places = new LeastFirst();
    places.reset(numbers.length);
    for (const [at, number] of numbers.entries()) places.set(at, number);
    for (let from = 0; from <= 64; from++)
      for (let bound = -1; bound < 42; bound++)
        expect(places.find(from, bound)).toBe(numbers.findIndex((number, at) => at >= from && number <= bound));
  });
});
