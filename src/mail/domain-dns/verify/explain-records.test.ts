import { expect, test } from 'vitest';
import { rememberedCount, rememberShortly } from './explain-records.ts';

const explained = (diagnosis: string) => () => Promise.resolve([{ diagnosis, found: null }]);

test('an explanation is remembered for half a minute, and no longer', async () => {
  const instance = {};
  await rememberShortly(instance, 'a', 0, explained('first'));
  expect(await rememberShortly(instance, 'a', 29_999, explained('second'))).toMatchObject([{ diagnosis: 'first' }]);
  expect(await rememberShortly(instance, 'a', 30_000, explained('third'))).toMatchObject([{ diagnosis: 'third' }]);
});

test('an expired explanation is dropped when another one is remembered', async () => {
  const instance = {};
  for (let i = 0; i < 100; i++) await rememberShortly(instance, `old ${i}`, i, explained('old'));
  await rememberShortly(instance, 'new', 30_050, explained('new'));
  expect(rememberedCount(instance)).toBe(50);
});
