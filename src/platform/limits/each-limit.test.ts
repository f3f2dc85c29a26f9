import { expect, it } from 'vitest';
import { nextTurn } from '../clock.ts';
import { eachLimit } from './each-limit.ts';

it('eachLimit works on at most the given number of items at a time, and on each item once', async () => {
  const done: number[] = [];
  let underWay = 0;
  let most = 0;
  await eachLimit([0, 1, 2, 3, 4, 5, 6], 3, async (item) => {
    most = Math.max(most, ++underWay);
    await nextTurn();
    underWay--;
    done.push(item);
  });
  expect(most).toBe(3);
  expect(done).toEqual([0, 1, 2, 3, 4, 5, 6]);
});

it('eachLimit starts nothing after a failure, and reports it when the started items have ended', async () => {
  const begun: number[] = [];
  let isOtherOver = false;
  const work = eachLimit([0, 1, 2, 3], 2, async (item) => {
    begun.push(item);
    if (item === 0) throw new Error('first');
    await nextTurn();
    isOtherOver = true;
  });
  await expect(work).rejects.toThrow('first');
  expect(begun).toEqual([0, 1]);
  expect(isOtherOver).toBe(true);
});

it('eachLimit starts nothing after work that throws at once instead of returning a promise', async () => {
  const begun: number[] = [];
  const work = eachLimit([0, 1, 2, 3], 2, (item) => {
    begun.push(item);
    throw new Error(`${item} failed`);
  });
  await expect(work).rejects.toThrow('0 failed');
  expect(begun).toEqual([0]);
});
