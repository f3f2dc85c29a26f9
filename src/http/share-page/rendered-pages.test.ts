import { expect, it } from 'vitest';
import type { World } from '../../platform/world/index.ts';
import { renderedOnce } from './rendered-pages.ts';

// Pages are kept per world, and nothing of the world is looked at.
const world = (): World => ({}) as World;

it('those who open a page while it is being made wait for the same one', async () => {
  const here = world();
  let renders = 0;
  const gate = Promise.withResolvers<string>();
  const open = () => renderedOnce(here, 'a', () => (renders++, gate.promise));
  const both = [open(), open()];
  gate.resolve('page');
  expect((await Promise.all(both)).map(String)).toEqual(['page', 'page']);
  expect(String(await open())).toBe('page');
  expect(renders).toBe(1);
});

it('a page that could not be made is made again', async () => {
  const here = world();
  await expect(renderedOnce(here, 'a', () => Promise.reject(new Error('no')))).rejects.toThrow('no');
  expect(String(await renderedOnce(here, 'a', () => Promise.resolve('page')))).toBe('page');
});

it('eight pages are kept, the one that was opened longest ago goes first, and large ones go earlier', async () => {
  const here = world();
  const made: string[] = [];
  const open = (key: string, chars = 1) =>
    renderedOnce(here, key, () => (made.push(key), Promise.resolve('x'.repeat(chars))));
  for (const key of 'abcdefgh') await open(key);
  for (const key of 'abcdefgh') await open(key);
  expect(made.join('')).toBe('abcdefgh');
  await open('a');
  await open('i');
  await open('a');
  expect(made.join('')).toBe('abcdefghi');
  await open('b');
  expect(made.join('')).toBe('abcdefghib');
  await open('large', 65 * 1024 * 1024);
  await open('a');
  expect(made.slice(-2)).toEqual(['large', 'a']);
});
