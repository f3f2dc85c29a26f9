import { randomLetters } from '../../../platform/secrets/index.ts';

/** Without vowels, which make words, and without letters that look like another. */
const LETTERS = 'BCDFGHJKLMNPQRSTVWXZ';
const HALF = 4;

/** 34 random bits: enough for ten minutes, as guesses are counted. */
export const newUserCode = (): string => `${randomLetters(LETTERS, HALF)}-${randomLetters(LETTERS, HALF)}`;

/** As people type it. */
export const plainUserCode = (typed: string): string => typed.toUpperCase().replaceAll(/[^A-Z]/g, '');
