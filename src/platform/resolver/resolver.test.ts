import { expect, test } from 'vitest';
import { createLookUpCache } from './resolver.ts';

const answer = (chars: number) => ({ kind: 'found' as const, records: ['x'.repeat(chars)] });

test('the cached responses stay within their maximum of bytes, and the oldest are dropped first', () => {
  const cache = createLookUpCache({ now: () => 0, bytesMax: 100_000 });
  for (let i = 0; i < 500; i++) {
    cache.put(`TXT n${i}.test`, answer(10_000));
    expect(cache.bytes).toBeLessThanOrEqual(100_000);
  }
  expect(cache.get('TXT n499.test')).toEqual(answer(10_000));
  expect(cache.get('TXT n0.test')).toBeUndefined();
});

test('a large response is not cached, and the response it replaces is dropped', () => {
  const cache = createLookUpCache({ now: () => 0, bytesMax: 1_000_000 });
  cache.put('TXT a.test', answer(10));
  cache.put('TXT a.test', answer(20_000));
  expect(cache.get('TXT a.test')).toBeUndefined();
  expect(cache.bytes).toBe(0);
});

test('an expired response is dropped although nobody asks for it', () => {
  let now = 0;
  const cache = createLookUpCache({ now: () => now, bytesMax: 1_000_000 });
  for (let i = 0; i < 50; i++) cache.put(`TXT n${i}.test`, answer(1000));
  const before = cache.bytes;
  now = 61_000;
  cache.put('TXT last.test', answer(1000));
  expect(cache.bytes).toBeLessThan(before / 20);
});

test('a response that is stored again counts once', () => {
  const cache = createLookUpCache({ now: () => 0, bytesMax: 1_000_000 });
  cache.put('TXT a.test', answer(100));
  const once = cache.bytes;
  for (let i = 0; i < 10; i++) cache.put('TXT a.test', answer(100));
  expect(cache.bytes).toBe(once);
});
