import { parseMerge } from '../merge/index.ts';

/** The text as it reads for a contact that has nothing: with the defaults that stand in it. */
export const withDefaults = (text: string): string =>
  parseMerge(text)
    .map((part) => (typeof part === 'string' ? part : (part.inlineDefault ?? '')))
    .join('');
