import { randomInt } from 'node:crypto';

/** Without vowels, which make words, and without letters that look like another. */
const LETTERS = 'BCDFGHJKLMNPQRSTVWXZ';
const HALF = 4;

/** 34 random bits: enough for ten minutes, as guesses are counted. */
export function newUserCode(): string {
  const letters = Array.from({ length: 2 * HALF }, () => LETTERS[randomInt(LETTERS.length)]).join('');
  return `${letters.slice(0, HALF)}-${letters.slice(HALF)}`;
}

/** As people type it. */
export const plainUserCode = (typed: string): string => typed.toUpperCase().replaceAll(/[^A-Z]/g, '');
