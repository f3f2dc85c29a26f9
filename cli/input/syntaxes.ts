import type { Flag, Syntax } from '../families/index.ts';
import { typeIn, typesIn } from './event-types.ts';
import { readAttachments, readHeaders, readTag, readVariables } from './read-message.ts';
import { readTimeAhead } from './read-time-ahead.ts';
import {
  readColumns,
  readMappedProperties,
  readProperties,
  readTopics,
  readVariable,
  splitPairs,
  type Place,
} from './read-pairs.ts';

interface Reader {
  /** Several in one text, as a form has them. */
  split?: (text: string) => string[];
  /** Each has a key, by which it is changed or taken away. */
  isKeyed?: true;
  read: (texts: readonly string[], place: Place) => unknown;
}

const READERS: Readonly<Record<Syntax, Reader>> = {
  attachment: { split: splitFiles, read: readAttachments },
  column: { split: splitPairs, read: (texts, { nameOf }) => readColumns(texts, nameOf) },
  'event type': { read: ([text = '']) => typeIn(text) },
  'event types': { read: (texts) => texts.flatMap(typesIn) },
  header: { split: splitHeaders, read: (texts, { nameOf }) => readHeaders(texts, nameOf) },
  property: { split: splitPairs, isKeyed: true, read: (texts, { nameOf }) => readProperties(texts, nameOf) },
  'property column': { split: splitPairs, read: (texts, { nameOf }) => readMappedProperties(texts, nameOf) },
  tag: { split: splitPairs, read: (texts, { nameOf }) => texts.map((text) => readTag(text, nameOf)) },
  'time ahead': { read: ([text = '']) => readTimeAhead(text, Date.now()) },
  topic: { split: splitPairs, read: (texts, { nameOf }) => readTopics(texts, nameOf) },
  variable: { split: splitPairs, read: (texts, { nameOf }) => readVariables(texts, nameOf) },
  'variable declaration': {
    split: splitDeclarations,
    read: (texts, { nameOf }) => texts.map((text) => readVariable(text, nameOf)),
  },
};

export const isSeveral = ({ isVariadic, isRepeatable, isList }: Flag): boolean =>
  isVariadic === true || isRepeatable === true || isList === true;

export const isKeyed = ({ syntax }: Flag): boolean => syntax !== undefined && READERS[syntax].isKeyed === true;

/** What stands in one text, where the command line takes it one by one. */
export const splitText = ({ syntax }: Flag, text: string): string[] =>
  ((syntax && READERS[syntax].split) ?? splitWords)(text);

export const readSyntax = (syntax: Syntax, texts: readonly string[], place: Place): unknown =>
  READERS[syntax].read(texts, place);

const splitWords = (text: string): string[] => text.split(/[\s,]+/).filter((part) => part !== '');

function splitFiles(text: string): string[] {
  return text.split(/\s*,\s*/).filter((part) => part !== '');
}

/** A comma belongs to a value unless another header stands behind it. */
function splitHeaders(text: string): string[] {
  return text.split(/\s*,\s*(?=[\w-]+:\s)/).filter((field) => field !== '');
}

/** A comma belongs to a fallback unless KEY=, KEY:type or a KEY in capitals stands behind it. */
function splitDeclarations(text: string): string[] {
  const parts: string[] = [];
  for (const part of text.split(/\s*,\s*/)) {
    const before = parts.at(-1);
    const isNext = before === undefined || !before.includes('=') || /^(\w+[=:]|[A-Z][A-Z0-9_]*$)/.test(part);
    if (isNext) parts.push(part);
    else parts.splice(-1, 1, `${before}, ${part}`);
  }
  return parts.filter((part) => part !== '');
}
