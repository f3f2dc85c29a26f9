import { expect, it } from 'vitest';
import { bytesInBrief, bytesInWords } from './bytes-in-words.ts';

it.each([
  [0, '0 bytes'],
  [1023, '1023 bytes'],
  [1024, '1 KiB'],
  [2590, '2.53 KiB'],
  [1_048_575, '1 MiB'],
  [10 * 1024 ** 3, '10 GiB'],
  [5 * 1024 ** 5, '5120 TiB'],
])('a size of %d bytes is written as %s', (bytes, words) => expect(bytesInWords(bytes)).toBe(words));

it.each([
  [0, '0B'],
  [980, '980B'],
  [1023, '1.0K'],
  [10_188, '9.9K'],
  [10_189, '10K'],
  [18_204, '18K'],
  [52_428_800, '50M'],
])('a size of %d bytes is written as %s in a column', (bytes, words) => expect(bytesInBrief(bytes)).toBe(words));
