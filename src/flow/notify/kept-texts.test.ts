import { expect, test } from 'vitest';
import { createKeptTexts } from './kept-texts.ts';

test('however large the texts are, no more is kept than was agreed, and the newest are', () => {
  const kept = createKeptTexts(1_000_000);
  for (let i = 0; i < 2000; i++) {
    kept.keep(`large ${i}`, 'x'.repeat(100_000));
    expect(kept.size()).toBeLessThanOrEqual(1_000_000);
  }
  expect(kept.get('large 1999')).toHaveLength(100_000);
  expect(kept.get('large 1990')).toBeUndefined();
  for (let i = 0; i < 100_000; i++) kept.keep(`small ${i}`, '');
  expect(kept.size()).toBeLessThanOrEqual(1_000_000);
  expect(kept.get('small 0')).toBeUndefined();
});

test('the same text again is kept once', () => {
  const kept = createKeptTexts(10_000);
  kept.keep('a', 'x'.repeat(100));
  const once = kept.size();
  kept.keep('a', 'y'.repeat(100));
  expect(kept.size()).toBe(once);
  expect(kept.get('a')).toBe('y'.repeat(100));
});

test('one that does not fit by itself is not kept', () => {
  const kept = createKeptTexts(1000);
  kept.keep('a', 'x'.repeat(1001));
  expect([kept.get('a'), kept.size()]).toEqual([undefined, 0]);
});
