import { expect, it } from 'vitest';
import { createRepeats } from './tracking.ts';

it('a key is a repetition until the window since its first occurrence is over, however often it occurred', () => {
  let now = 5000;
  const isRepeat = createRepeats(() => now, 1000);
  const seen: boolean[] = [];
  for (const at of [5000, 5000, 5400, 5999, 6000, 6500, 6999, 7000, 20_000]) {
    now = at;
    seen.push(isRepeat('a'));
  }
  expect(seen).toEqual([false, true, true, true, false, true, true, false, false]);
});

it('keys are independent, and more keys than the limit do no harm', () => {
  const isRepeat = createRepeats(() => 0, 1000);
  for (let n = 0; n < 120_000; n++) expect(isRepeat(`key ${n}`)).toBe(false);
  expect(isRepeat('key 119999')).toBe(true);
});
