import { expect, it } from 'vitest';
import { bytesInWords } from './bytes-in-words.ts';

it.each([
  [0, '0 bytes'],
  [1023, '1023 bytes'],
  [1024, '1 KiB'],
  [2590, '2.53 KiB'],
  [1_048_575, '1 MiB'],
  [10 * 1024 ** 3, '10 GiB'],
  [5 * 1024 ** 5, '5120 TiB'],
])('%d is %s', (bytes, words) => expect(bytesInWords(bytes)).toBe(words));
