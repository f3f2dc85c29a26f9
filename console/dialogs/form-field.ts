import type { Flag } from '../../cli/families/index.ts';
import { clean, splitPairs } from '../../cli/output/index.ts';
import { faint, fit, wrap } from '../draw/text.ts';
import { LineEdit } from './line-edit.ts';

/** What of `key=value` was changed, and which keys are there no more. */
export interface Pairs {
  set: string[];
  gone: string[];
}

/** A line of a form: a field of a call, and what is written in it. */
export interface Entry {
  name: string;
  label: string;
  says: string;
  isRequired: boolean;
  /** Without one it is a part of the path. */
  flag: Flag | undefined;
  edit: LineEdit;
  /** What is set, where that is known. */
  was: string | undefined;
  /** What is too long for a line is changed elsewhere. */
  isFixed: boolean;
  /** It is not shown before somebody asks for more. */
  isMore: boolean;
}

const LONG = 4000;

export function entryOf({
  text = '',
  ...line
}: Omit<Entry, 'edit' | 'isFixed' | 'was' | 'isMore'> &
  Partial<Pick<Entry, 'was' | 'isMore'>> & { text?: string | undefined }): Entry {
  return { isMore: false, ...line, was: line.was, edit: new LineEdit(text), isFixed: text.length > LONG };
}

export const ofFlag = (name: string, flag: Flag) => ({
  ...{ name, label: (flag.flag ?? name).replaceAll(/[-_]/g, ' '), says: saysOf(flag) },
  ...{ isRequired: flag.isRequired ?? false, flag },
});

/** What the command line takes one by one is one text here. */
const saysOf = ({ says, isVariadic, isRepeatable }: Flag): string =>
  isVariadic || isRepeatable ? `${says}, with commas between them` : says;

export const choicesOf = (entry: Entry | undefined): readonly string[] =>
  entry?.flag?.isBoolean ? ['true', 'false'] : (entry?.flag?.choices ?? []);

const isFilled = ({ edit }: Entry): boolean => edit.text.trim() !== '';

/** Whether it has to be filled, as the others are. */
export const isNeeded = ({ isRequired, flag, was }: Entry, all: readonly Entry[]): boolean =>
  isRequired &&
  (was ?? '') === '' &&
  !all.some((other) => flag?.orElse?.includes(other.name) === true && isFilled(other));

/** One of several would do as well as it. */
export const isOneOfSeveral = ({ flag }: Entry): boolean => (flag?.orElse?.length ?? 0) > 1;

export function drawEntry(
  entry: Entry,
  { isHere, isNeeded: isMissing, labels, width }: { isHere: boolean; isNeeded: boolean; labels: number; width: number },
): string[] {
  const { label, says, flag, edit, isFixed, was } = entry;
  const room = width - labels - 2;
  const seen = flag?.isSecret ? new LineEdit('•'.repeat(edit.text.length)) : edit;
  const value = isHere ? seen.draw(room) : seen.drawAway(room);
  const mark = isMissing && was === undefined ? (isOneOfSeveral(entry) ? ' (*)' : ' *') : '';
  const said = isHere ? wrap(clean(says), room).map((line) => `  ${' '.repeat(labels)}${faint(line)}`) : [];
  return [`${isHere ? '› ' : '  '}${fit(label + mark, labels - 1)} ${isFixed ? tooLong(edit) : value}`, ...said];
}

const tooLong = ({ text }: LineEdit): string => faint(`${text.length} characters: changed on the command line`);

export const isChanged = ({ was, edit }: Entry): boolean =>
  was === undefined ? edit.text.trim() !== '' : edit.text.trim() !== was.trim();

/** What is wrong with a field before anything is asked; nothing, where it is left as it was. */
export function faultOf(entry: Entry, all: readonly Entry[]): string {
  const { flag, was = '', edit } = entry;
  const text = edit.text.trim();
  if (text === '' && isNeeded(entry, all)) return 'has to be filled';
  if (!isChanged(entry)) return '';
  if (text === '') return flag?.isClearable || flag?.isList ? '' : `cannot be empty; it was ${was}`;
  if (flag?.isJson) return isJson(text) ? '' : 'must be JSON';
  if (flag?.isBoolean) return /^(true|false)$/.test(text) ? '' : 'must be true or false';
  return flag?.isNumber && !/^\d+$/.test(text) ? 'must be a whole number' : '';
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

export function valueOf({ edit, was = '' }: Entry, flag: Flag): unknown {
  const text = edit.text.trim();
  if (flag.isPairs) return pairsOf(text, was);
  if (flag.isFiles) return partsOf(text, /\s*,\s*/);
  if (flag.isList) return partsOf(text, /[\s,]+/);
  if (text === '') return null;
  if (flag.isJson) return JSON.parse(text);
  if (flag.isBoolean) return text === 'true';
  return flag.isNumber ? Number(text) : text;
}

const partsOf = (text: string, between: RegExp): string[] => text.split(between).filter((part) => part !== '');

function pairsOf(text: string, was: string): Pairs {
  const before = splitPairs(was);
  const now = splitPairs(text);
  const keyOf = (pair: string): string => pair.split(/:?=/)[0] ?? '';
  const kept = new Set(now.map(keyOf));
  return {
    set: now.filter((pair) => !before.includes(pair)),
    gone: before.map(keyOf).filter((key) => !kept.has(key)),
  };
}
