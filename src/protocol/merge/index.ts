/**
 * Merge variables: `{{{KEY}}}` and `{{{KEY|default}}}` in a text, replaced by values. One pass, in time that grows with
 * the text alone: what a value contains is never looked at again. It knows no template, and refuses nothing; what does
 * not have the form of a variable stays as it stands.
 */
export {
  keysOf,
  parseMerge,
  type MergeText,
  notePlaces,
  placesOf,
  showsAny,
  type Place,
  mergedChars,
  renderMerge,
} from './merge.ts';
