/**
 * Merge variables: `{{{KEY}}}` and `{{{KEY|default}}}` in a text, replaced by values. One pass, in time that grows with
 * the text alone: what a value contains is never looked at again. It knows no template, and refuses nothing; what does
 * not have the form of a variable stays as it stands.
 */
export { isMergeKey, KEY_CHARS_MAX, keysOf, parseMerge } from './parse-merge.ts';
export type { MergeText, MergeVariable } from './parse-merge.ts';
export { mergedChars, renderMerge } from './render-merge.ts';
export type { Escaping, MergeValues } from './render-merge.ts';
