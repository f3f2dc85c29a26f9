import {
  explainFlag,
  inWords,
  readPart,
  toOptionName,
  type Action,
  type Key,
  type Line,
  type Flag,
} from '../../cli/families/index.ts';
import { splitText, isKeyed, isSeveral, isWords, type Typed } from '../../cli/input/index.ts';
import { clean } from '../../cli/output/index.ts';
import { faint, shownWidth, wrap, fit } from '../draw/text.ts';
import { inOneLine, type Dialog } from './dialog.ts';
import os from 'node:os';
import { LineEdit } from './line-edit.ts';

/** A line of a form: a field of a call, and its value. */
interface Entry {
  name: string;
  label: string;
  says: string;
  isRequired: boolean;
  /** Undefined for a part of the path. */
  flag: Flag | undefined;
  edit: LineEdit;
  /** The current value, if it is known. */
  was: string | undefined;
  /** True for a value that is too long to edit here. */
  isFixed: boolean;
  /** Hidden until the user asks for more fields. */
  isMore: boolean;
  /** The other field that may come from this file. */
  fileFor: string | undefined;
}

const LONG = 4000;

type Given = Omit<Entry, 'edit' | 'isFixed' | 'was' | 'isMore' | 'fileFor'> &
  Partial<Pick<Entry, 'was' | 'isMore' | 'fileFor' | 'isFixed'>> & { text?: string | undefined };

const toEntry = ({ text = '', isFixed = false, ...line }: Given): Entry => ({
  isMore: false,
  fileFor: undefined,
  ...line,
  was: line.was,
  edit: new LineEdit(text),
  isFixed: isFixed || text.length > LONG,
});

/**
 * Returns the lines of all fields of a form; the lines for files come after the last field that may come from a file.
 */
function buildLines(flags: Readonly<Record<string, Flag>>): Given[] {
  const asked = Object.entries(flags).filter(([, { place }]) => place !== 'line');
  const inFile = asked.filter(([, { fromFile }]) => fromFile !== undefined);
  const files = inFile.map(([name, flag]) => ofFile(name, flag));
  return asked.flatMap(([name, flag]) => {
    const { orElse = [] } = flag;
    const others = [name, ...orElse].filter((other) => inFile.some(([one]) => one === other)).map(toFileField);
    const own = ofFlag(name, { ...flag, orElse: [...orElse, ...others] });
    return name === inFile.at(-1)?.[0] ? [own, ...files] : [own];
  });
}

const ofFlag = (name: string, flag: Flag): Given => ({
  name,
  label: formatLabel(name, flag),
  says: explainField(flag),
  isRequired: flag.isRequired ?? false,
  flag,
  text: flag.preset?.toString(),
  isMore: flag.isMore ?? false,
});

const ofFile = (name: string, { fromFile, ...flag }: Flag): Given => ({
  ...ofFlag(toFileField(name), {
    flag: `${toOptionName(name, flag)}-file`,
    says: `a file on this machine with the ${fromFile}`,
    isMore: true,
  }),
  fileFor: name,
});

const toFileField = (name: string): string => `${name}_file`;

const formatLabel = (name: string, flag: Flag): string => toOptionName(name, flag).replaceAll(/[-_]/g, ' ');

/** Uses the names of the options for fields, without their dashes; repeated options are one text here. */
function explainField(flag: Flag): string {
  const { isVariadic, isRepeatable, isBoolean, isFile, syntax } = flag;
  const said = `${isBoolean ? 'true or false: ' : ''}${explainFlag(flag).replaceAll(/--(?=[a-z])/g, '')}`;
  const where = isFile && syntax === undefined ? ', on this machine' : '';
  return `${said}${where}${isVariadic || isRepeatable ? '; separate several by commas' : ''}`;
}

const listChoices = (entry: Entry | undefined): readonly string[] =>
  entry?.flag?.isBoolean ? ['true', 'false'] : (entry?.flag?.choices ?? []);

const isFilled = ({ edit }: Entry): boolean => edit.text.trim() !== '';

/** Reports whether the entry must be filled, given the others. */
const isNeeded = ({ isRequired, flag, was }: Entry, all: readonly Entry[]): boolean =>
  isRequired &&
  (was ?? '') === '' &&
  !all.some((other) => flag?.orElse?.includes(other.name) === true && isFilled(other));

/** Reports whether one of several other fields can replace it. */
const isOneOfSeveral = ({ flag }: Entry): boolean => (flag?.orElse?.length ?? 0) > 1;

function drawEntry(
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

const isChanged = ({ was, edit }: Entry): boolean =>
  was === undefined ? edit.text.trim() !== '' : edit.text.trim() !== was.trim();

/** Returns the fault of a field before the API is called; empty if the field was left unchanged. */
function findFault(entry: Entry, all: readonly Entry[]): string {
  const { flag, was = '', edit } = entry;
  const text = edit.text.trim();
  if (text === '' && isNeeded(entry, all)) return 'is required';
  if (!isChanged(entry)) return '';
  const main = all.find(({ name }) => name === entry.fileFor);
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

/** Returns the values that were typed in the lines of a form. */
function typedIn(entries: readonly Entry[]): Typed {
  const fields: Record<string, unknown> = {};
  const files: Record<string, string> = {};
  const cleared: Record<string, true | string[]> = {};
  for (const { name, flag, fileFor, edit, was = '' } of entries) {
    const text = edit.text.trim();
    if (!flag) continue;
    if (fileFor !== undefined) files[fileFor] = atHome(text);
    else if (isKeyed(flag) && was !== '') Object.assign(cleared, { [name]: keysGone(flag, text, was) });
    else if (text === '' && (flag.isClearable || !isSeveral(flag))) cleared[name] = true;
    if (fileFor === undefined && cleared[name] !== true) fields[name] = parseValue(flag, text, was);
  }
  return { fields, files, cleared };
}

function parseValue(flag: Flag, text: string, was: string): unknown {
  if (isKeyed(flag)) return splitText(flag, text).filter((pair) => !splitText(flag, was).includes(pair));
  if (isSeveral(flag)) return splitText(flag, text).map((part) => (flag.isFile ? atHome(part) : part));
  if (flag.isBoolean) return text === 'true';
  if (flag.isNumber) return Number(text);
  return flag.isFile ? atHome(text) : text;
}

/** Expands `~` as a shell would. */
const atHome = (file: string): string => file.replace(/^~(?=\/|$)/, () => os.homedir());

function keysGone(flag: Flag, text: string, was: string): string[] {
  const keysIn = (pairs: string): string[] => splitText(flag, pairs).map((pair) => pair.split(/:?=/)[0] ?? '');
  const kept = new Set(keysIn(text));
  return keysIn(was).filter((key) => !kept.has(key));
}

export interface Filled {
  path: Record<string, string>;
  typed: Typed;
}

export interface FormInput {
  keys: Readonly<Record<string, Key>>;
  flags: Action['flags'];
  /** Values that a person will most likely submit. */
  given?: Readonly<Record<string, string>>;
  note?: string | undefined;
  /** True while the current values are being loaded: the form takes no input until then. */
  isAsking?: boolean;
}

const FIELD = /(?<![\w.@-])[a-z]+(?:[_.][a-z0-9]+)*(?![\w@-])/g;

/** A form with a line for each field of a call. Of the current values only changed ones are submitted. */
export class FormDialog implements Dialog {
  readonly title: string;
  readonly #done: (filled: Filled) => void;
  readonly #note: string;
  #all: Entry[];
  /** The fields that most do without are shown too. */
  #isOpen = false;
  /** The index of the selected entry among the visible ones. */
  #at = 0;
  #fault = '';
  isAsking: boolean;
  /** True if there are more fields than fit. */
  #isCut = false;

  constructor(
    title: string,
    { keys, flags, given = {}, note = '', isAsking = false }: FormInput,
    done: (filled: Filled) => void,
  ) {
    this.title = title;
    this.#done = done;
    this.#note = note;
    this.isAsking = isAsking;
    // If several fields exclude each other, the one typed first counts.
    const isChosen = Object.entries(flags).some(([name, { isOneOf }]) => isOneOf && given[name] !== undefined);
    this.#all = [
      ...Object.entries(keys).map(([name, { word, says }]) =>
        toEntry({ name, label: word, says, isRequired: true, flag: undefined }),
      ),
      ...buildLines(flags).map(({ isMore, text, ...line }) => {
        const isOther = line.flag?.isOneOf === true && isChosen && given[line.name] === undefined;
        return toEntry({ ...line, text: given[line.name] ?? text, isMore: isMore === true || isOther });
      }),
    ];
    this.#at = Math.max(
      0,
      this.#entries.findIndex((entry) => entry.edit.text === '' && isNeeded(entry, this.#all)),
    );
  }

  get #entries(): readonly Entry[] {
    return this.#isOpen ? this.#all : this.#all.filter(({ isMore }) => !isMore);
  }

  /** The entries that are not shown. */
  get #hidden(): readonly Entry[] {
    return this.#isOpen ? [] : this.#all.filter(({ isMore }) => isMore);
  }

  /** Fills the fields with the current values. */
  begin(current: object): void {
    this.isAsking = false;
    this.#all = this.#all.map((entry) => {
      if (!entry.flag) return entry;
      const value = readPart(current, entry.name);
      const was = inWords(value);
      // A value that would not survive the round trip through text is not editable here.
      const isFixed = Array.isArray(value) && inWords(splitText(entry.flag, was)) !== was;
      return toEntry({ ...entry, was, text: was, isFixed: isFixed || undefined });
    });
  }

  beginWith(lines: readonly Line[]): void {
    this.isAsking = false;
    this.#all = lines.map(({ name, label, flag, current }) =>
      toEntry({ ...ofFlag(name, flag), label: clean(label), was: current, text: current }),
    );
  }

  get keys(): string {
    if (this.isAsking) return 'esc cancel';
    const choose = listChoices(this.#entries[this.#at]).length > 0 ? '←→ choose   ' : '';
    const enter = this.#at >= this.#entries.length - 1 ? 'enter' : 'enter next   ctrl-s';
    const more = this.#hidden.length > 0 ? 'ctrl-o more   ' : '';
    const others = this.#entries.length > 1 ? '↑↓ tab other fields   ' : '';
    return `${choose}${enter} submit   ${more}${others}esc cancel`;
  }

  get where(): string {
    return this.#isCut ? `${this.#at + 1} of ${this.#entries.length}` : '';
  }

  draw(width: number, height: number): string[] {
    if (this.isAsking) return [faint('Loading the current values …')];
    const labels = Math.min(
      Math.max(...this.#entries.map(({ label }) => shownWidth(label))) + 3,
      Math.floor(width / 2),
    );
    const drawn = this.#entries.map((entry, at) =>
      drawEntry(entry, { isHere: at === this.#at, isNeeded: isNeeded(entry, this.#all), labels, width }),
    );
    const below = this.#fault === '' ? this.#notes(width).map(faint) : wrap(this.#fault, width);
    const room = Math.max(drawn[this.#at]?.length ?? 1, height - below.length);
    // The selected line stays visible.
    let first = 0;
    while (first < this.#at && drawn.slice(first, this.#at + 1).flat().length > room) first++;
    const shown = drawn.slice(first).flat();
    this.#isCut = first > 0 || shown.length > room;
    return [...shown.slice(0, room), ...below].slice(0, Math.max(1, height));
  }

  #notes(width: number): string[] {
    const isChange = this.#entries.some(({ was }) => was !== undefined);
    const notes = [
      ...(isChange ? ['Only changed fields are sent.'] : []),
      ...(isChange ? [] : this.#missing()),
      ...(this.#hidden.length > 0 ? [`Ctrl-O: ${this.#hidden.map(({ label }) => label).join(', ')}`] : []),
      ...(this.#note === '' ? [] : [this.#note]),
    ];
    return notes.flatMap((note) => wrap(note, width));
  }

  /** Names the entries that must be filled, and groups of which one is enough. */
  #missing(): string[] {
    const needed = this.#entries.filter((entry) => isNeeded(entry, this.#all));
    const either = needed.filter(isOneOfSeveral).map(({ label, flag }) => {
      const others = this.#all.filter(({ name }) => flag?.orElse?.includes(name));
      return `(*) one of ${[label, ...others.map((other) => other.label)].join(', ')}`;
    });
    const all = needed.length > either.length ? ['* required'] : [];
    return [[...all, ...either].join('; ')].filter((said) => said !== '');
  }

  key(key: string): boolean {
    if (key === 'esc') return false;
    if (this.isAsking) return true;
    if (key === 'ctrl-o') return this.#openMore();
    const last = this.#entries.length - 1;
    if (['ctrl-s', 'enter', 'tab', 'shift-tab', 'down', 'up'].includes(key)) this.#complete();
    if (key === 'ctrl-s' || (key === 'enter' && this.#at >= last)) return this.#submit();
    // All fields may be hidden.
    if (last === -1) return true;
    if (key === 'enter' || key === 'tab' || key === 'down') this.#at = this.#at === last ? 0 : this.#at + 1;
    else if (key === 'shift-tab' || key === 'up') this.#at = this.#at === 0 ? last : this.#at - 1;
    else this.#type(key);
    return true;
  }

  /** Completes a text that only one choice begins with. */
  #complete(): void {
    const entry = this.#entries[this.#at];
    const text = entry?.edit.text.trim() ?? '';
    const [choice, another] = listChoices(entry).filter((one) => one.startsWith(text));
    if (text !== '' && choice !== undefined && another === undefined) entry?.edit.set(choice);
  }

  #openMore(): true {
    const [first] = this.#hidden;
    this.#isOpen = true;
    if (first) this.#at = this.#entries.indexOf(first);
    return true;
  }

  #type(key: string): void {
    const entry = this.#entries[this.#at];
    if (!entry || entry.isFixed) return;
    this.#fault = '';
    const choices = listChoices(entry);
    const at = choices.indexOf(entry.edit.text);
    const step = { right: 1, ' ': 1, left: -1 }[key];
    if (choices.length > 0 && step !== undefined) {
      const next = at === -1 ? (step > 0 ? 0 : choices.length - 1) : (at + step + choices.length) % choices.length;
      return entry.edit.set(choices[next] ?? '');
    }
    // A typed choice replaces this one and does not add to it.
    if (at !== -1 && [...key].length === 1) entry.edit.set('');
    entry.edit.key(key);
  }

  paste(text: string): void {
    const entry = this.#entries[this.#at];
    if (!entry || entry.isFixed || this.isAsking) return;
    this.#fault = '';
    if (listChoices(entry).includes(entry.edit.text)) entry.edit.set('');
    entry.edit.insert(entry.flag?.hasLines ? text : inOneLine(text));
  }

  /** Shows the fault of a submitted form, which can be submitted again. */
  refuse(fault: string): void {
    this.#fault = fault;
    const at = this.#entries.findIndex(({ label }) => isAbout(fault, label));
    if (at !== -1) this.#at = at;
  }

  takeBack(fault: string): void {
    if (this.#fault === fault) this.#fault = '';
  }

  /** Returns a message of the API with the labels of the lines in place of the fields. */
  inItsWords = (message: string, paths: readonly string[]): string =>
    message.replaceAll(FIELD, (path) => (paths.includes(path) || path.includes('_') ? this.#formatLabel(path) : path));

  #formatLabel(path: string): string {
    const entry = this.#all.find(({ name }) => path === name || path.startsWith(`${name}.`));
    if (!entry) return path;
    const at = /^\.(\d+)$/.exec(path.slice(entry.name.length))?.[1];
    const isOneOfMany = at !== undefined && /[\s,]/.test(entry.edit.text.trim());
    return isOneOfMany ? `${entry.label} (number ${Number(at) + 1})` : entry.label;
  }

  #submit(): boolean {
    const fault = this.#entries
      .map((entry, at) => ({ at, says: findFault(entry, this.#all) }))
      .find(({ says }) => says !== '');
    if (fault) {
      this.#at = fault.at;
      this.#fault = `${this.#entries[fault.at]?.label} ${fault.says}.`;
      return true;
    }
    const changed = this.#entries.filter(isChanged);
    if (changed.length === 0 && this.#entries.some(({ was }) => was !== undefined)) {
      this.#fault = 'Nothing has been changed yet.';
      return true;
    }
    const wholes = new Set(changed.filter(({ flag }) => flag?.isPart).map(({ name }) => toOuterName(name)));
    const sent = this.#entries.filter(
      (entry) => changed.includes(entry) || (wholes.has(toOuterName(entry.name)) && entry.edit.text.trim() !== ''),
    );
    const path = sent
      .filter(({ flag }) => flag === undefined)
      .map(({ name, edit }) => [name, edit.text.trim()] as const);
    this.#done({ path: Object.fromEntries(path), typed: typedIn(sent) });
    return false;
  }
}

/** Reports whether the fault begins with the field, or names it with a colon. */
const isAbout = (fault: string, label: string): boolean =>
  fault.startsWith(`${label} `) ||
  fault.startsWith(`${label}, at `) ||
  [`${label}: `, `${label} (number `].some((said) => ` ${fault}`.includes(` ${said}`));

const toOuterName = (name: string): string => name.split('.')[0] ?? '';
