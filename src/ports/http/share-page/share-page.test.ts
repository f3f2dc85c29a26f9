import { expect, it } from 'vitest';
import type { World } from '../../../platform/world.ts';
import { renderedOnce, type RenderedEmail } from './share-page.ts';

// Rendered emails are kept per world object, and nothing in it is used.
const world = (): World => ({}) as World;

const MIB = 1024 * 1024;
const rendered = (bytes = 1): RenderedEmail => ({
  frame: undefined,
  mayLoadImages: false,
  links: [],
  text: undefined,
  bytes,
});
const small = (id: string) => ({ id, isLarge: false });
const large = (id: string) => ({ id, isLarge: true });

it('callers who open an email while it is being rendered wait for the same rendering', async () => {
  const here = world();
  let renders = 0;
  const gate = Promise.withResolvers<RenderedEmail>();
  const open = () => renderedOnce(here, small('a'), () => (renders++, gate.promise));
  const both = [open(), open()];
  const result = rendered();
  gate.resolve(result);
  expect([await both[0], await both[1]]).toEqual([result, result]);
  expect(await open()).toBe(result);
  expect(renders).toBe(1);
});

it.each([small, large])('an email whose rendering failed is rendered again', async (email) => {
  const here = world();
  await expect(renderedOnce(here, email('a'), () => Promise.reject(new Error('no')))).rejects.toThrow('no');
  expect(await renderedOnce(here, email('a'), () => Promise.resolve(rendered()))).toEqual(rendered());
});

it('at most 64 MiB and 256 emails are cached, and the least recently opened one is dropped first', async () => {
  const here = world();
  let made: string[] = [];
  const open = (id: string, bytes = 1) =>
    renderedOnce(here, small(id), () => (made.push(id), Promise.resolve(rendered(bytes))));
  for (const id of 'abcd') await open(id, 16 * MIB);
  await open('a');
  expect(made.join('')).toBe('abcd');
  await open('e');
  await open('a');
  expect(made.join('')).toBe('abcde');
  await open('b', 16 * MIB);
  expect(made.join('')).toBe('abcdeb');

  const there = world();
  made = [];
  const openThere = (n: number) =>
    renderedOnce(there, small(`n${n}`), () => (made.push(`n${n}`), Promise.resolve(rendered())));
  for (let n = 0; n < 256; n++) await openThere(n);
  for (let n = 0; n < 256; n++) await openThere(n);
  expect(made).toHaveLength(256);
  await openThere(256);
  await openThere(0);
  expect(made.slice(-2)).toEqual(['n256', 'n0']);
});

it('large emails are rendered one after the other, sixteen may wait, and small ones do not wait', async () => {
  const here = world();
  const gates = Array.from({ length: 17 }, () => Promise.withResolvers<RenderedEmail>());
  const started: number[] = [];
  const openings = gates.map((gate, n) => renderedOnce(here, large(`l${n}`), () => (started.push(n), gate.promise)));
  const never = () => Promise.reject(new Error('it was refused'));
  expect(renderedOnce(here, large('one too many'), never)).toBeUndefined();
  expect(await renderedOnce(here, small('s'), () => Promise.resolve(rendered()))).toEqual(rendered());
  // Opening an email that waits already adds nothing to the queue.
  expect(renderedOnce(here, large('l16'), never)).toBe(openings[16]);
  for (const [n, gate] of gates.entries()) {
    expect(started).toHaveLength(n + 1);
    gate.resolve(rendered());
    await openings[n];
    await Promise.resolve().then(() => undefined);
  }
  expect(await renderedOnce(here, large('one too many'), () => Promise.resolve(rendered()))).toEqual(rendered());
});
