import { expect, it } from 'vitest';
import { createContentSpace } from './intake.ts';

const KB = 1024;
const createSpace = (memory: number, files: number) => createContentSpace({ memoryBytes: memory, fileBytes: files });

it('ordinary messages are kept in memory and larger ones whole in a file, and the memory is released', () => {
  const space = createSpace(128 * KB, 1000 * KB);
  const large = space.begin('a');
  expect([large.take(100 * KB), large.take(100 * KB), large.take(10)]).toEqual(['memory', 'file', 'file']);
  const small = space.begin('a');
  expect(small.take(128 * KB)).toBe('memory');
  // The memory is taken.
  const other = space.begin('b');
  expect([other.take(10), space.begin('b').take(10)]).toEqual(['file', 'file']);
  small.release();
  expect([other.take(10), space.begin('b').take(10)]).toEqual(['file', 'memory']);
});

it('a client can use as much of the file space as it leaves to others, and refused space is released', () => {
  const space = createSpace(0, 1000);
  const greedy = space.begin('a');
  expect([greedy.take(500), greedy.take(1)]).toEqual(['file', undefined]);
  expect([space.fits('a', 300 * KB), space.fits('b', 300 * KB)]).toEqual([false, false]);
  expect(space.begin('b').take(250)).toBe('file');
  greedy.release();
  greedy.release();
  expect(space.begin('c').take(375)).toBe('file');
});
