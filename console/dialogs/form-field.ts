import os from 'node:os';
import { optionOf, type Flag } from '../../cli/families/index.ts';
import { isKeyed, isSeveral, isWords, splitText, type Typed } from '../../cli/input/index.ts';
import { clean } from '../../cli/output/index.ts';
import { faint, fit, wrap } from '../draw/text.ts';
import { LineEdit } from './line-edit.ts';

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
  /** It is the file that this other field may come from. */
  fileOf: string | undefined;
}

const LONG = 4000;

export type Given = Omit<Entry, 'edit' | 'isFixed' | 'was' | 'isMore' | 'fileOf'> &
  Partial<Pick<Entry, 'was' | 'isMore' | 'fileOf' | 'isFixed'>> & { text?: string | undefined };

export const entryOf = ({ text = '', isFixed = false, ...line }: Given): Entry => ({
  ...{ isMore: false, fileOf: undefined },
  ...line,
  ...{ was: line.was, edit: new LineEdit(text), isFixed: isFixed || text.length > LONG },
});

/** The lines of all fields that a form asks for; behind the last that may come from a file, those of the files. */
export function linesOf(flags: Readonly<Record<string, Flag>>): Given[] {
  const asked = Object.entries(flags).filter(([, { place }]) => place !== 'line');
  const inFile = asked.filter(([, { fromFile }]) => fromFile !== undefined);
  const files = inFile.map(([name, flag]) => ofFile(name, flag));
  return asked.flatMap(([name, flag]) => {
    const { orElse = [] } = flag;
    const others = [name, ...orElse].filter((other) => inFile.some(([one]) => one === other)).map(fileNameOf);
    const own = ofFlag(name, { ...flag, orElse: [...orElse, ...others] });
    return name === inFile.at(-1)?.[0] ? [own, ...files] : [own];
  });
}

export const ofFlag = (name: string, flag: Flag): Given => ({
  ...{ name, label: labelOf(name, flag), says: saysOf(flag), isRequired: flag.isRequired ?? false, flag },
  ...{ text: flag.preset?.toString(), isMore: flag.isMore ?? false },
});

const ofFile = (name: string, { fromFile, ...flag }: Flag): Given => ({
  ...ofFlag(fileNameOf(name), {
    flag: `${optionOf(name, flag)}-file`,
    says: `a file on this machine with the ${fromFile}`,
    isMore: true,
  }),
  fileOf: name,
});

const fileNameOf = (name: string): string => `${name}_file`;

const labelOf = (name: string, flag: Flag): string => optionOf(name, flag).replaceAll(/[-_]/g, ' ');

/** Fields are called as the options are, without their dashes; what the command line takes one by one is one text here. */
function saysOf({ says, isVariadic, isRepeatable, isBoolean, isFile, syntax }: Flag): string {
  const said = `${isBoolean ? 'true or false: ' : ''}${says.replaceAll(/--(?=[a-z])/g, '')}`;
  const where = isFile && syntax === undefined ? ', on this machine' : '';
  return `${said}${where}${isVariadic || isRepeatable ? '; commas between several' : ''}`;
}

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
  return [`${isHere ? '› ' : '  '}${fit(label + mark, labels - 1)} ${isFixed ? tooLong(entry) : value}`, ...said];
}

const tooLong = ({ flag, edit: { text } }: Entry): string =>
  faint(`${text.length} characters: changed ${flag?.fromFile === undefined ? 'on the command line' : 'from a file'}`);

export const isChanged = ({ was, edit }: Entry): boolean =>
  was === undefined ? edit.text.trim() !== '' : edit.text.trim() !== was.trim();

/** What is wrong with a field before anything is asked; nothing, where it is left as it was. */
export function faultOf(entry: Entry, all: readonly Entry[]): string {
  const { flag, was = '', edit } = entry;
  const text = edit.text.trim();
  if (text === '' && isNeeded(entry, all)) return 'has to be filled';
  if (!isChanged(entry)) return '';
  const main = all.find(({ name }) => name === entry.fileOf);
  if (main && isChanged(main) && isFilled(main)) return `and ${main.label} are both filled; choose one`;
  if (text === '') return flag?.isClearable || (flag && isSeveral(flag)) ? '' : `cannot be empty; it was ${was}`;
  if (flag?.isWhere && isWords(text)) return '';
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

/** What was typed in the lines of a form. */
export function typedIn(entries: readonly Entry[]): Typed {
  const fields: Record<string, unknown> = {};
  const files: Record<string, string> = {};
  const cleared: Record<string, true | string[]> = {};
  for (const { name, flag, fileOf, edit, was = '' } of entries) {
    const text = edit.text.trim();
    if (!flag) continue;
    if (fileOf !== undefined) files[fileOf] = atHome(text);
    else if (isKeyed(flag) && was !== '') Object.assign(cleared, { [name]: keysGone(flag, text, was) });
    else if (text === '' && (flag.isClearable || !isSeveral(flag))) cleared[name] = true;
    if (fileOf === undefined && cleared[name] !== true) fields[name] = valueOf(flag, text, was);
  }
  return { fields, files, cleared };
}

function valueOf(flag: Flag, text: string, was: string): unknown {
  if (isKeyed(flag)) return splitText(flag, text).filter((pair) => !splitText(flag, was).includes(pair));
  if (isSeveral(flag)) return splitText(flag, text).map((part) => (flag.isFile ? atHome(part) : part));
  if (flag.isBoolean) return text === 'true';
  if (flag.isNumber) return Number(text);
  return flag.isFile ? atHome(text) : text;
}

/** As a shell would have written it. */
const atHome = (file: string): string => file.replace(/^~(?=\/|$)/, () => os.homedir());

function keysGone(flag: Flag, text: string, was: string): string[] {
  const keysIn = (pairs: string): string[] => splitText(flag, pairs).map((pair) => pair.split(/:?=/)[0] ?? '');
  const kept = new Set(keysIn(text));
  return keysIn(was).filter((key) => !kept.has(key));
}
