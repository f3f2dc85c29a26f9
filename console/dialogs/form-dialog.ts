import { inWords, readPart, type Action, type Flag, type Key, type Line } from '../../cli/families/index.ts';
import { clean, splitPairs } from '../../cli/output/index.ts';
import { faint, fit, shownWidth, wrap } from '../draw/text.ts';
import type { Dialog } from './dialog.ts';
import { LineEdit } from './line-edit.ts';

/** What of `key=value` was changed, and which keys are there no more. */
export interface Pairs {
  set: string[];
  gone: string[];
}

export interface Filled {
  path: Record<string, string>;
  body: Record<string, unknown>;
}

interface Entry {
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
}

export interface FormInput {
  keys: Readonly<Record<string, Key>>;
  flags: Action['flags'];
  /** What a person will mostly want to hand in. */
  given?: Readonly<Record<string, string>>;
  note?: string | undefined;
  /** What is set now has to be asked for: the form takes nothing until it is there. */
  isAsking?: boolean;
}

const LONG = 4000;

const FIELD = /(?<![\w.@-])[a-z]+(?:[_.][a-z0-9]+)*(?![\w@-])/g;

/** A line for each field of a call. Of what is set already, only what was changed is handed in. */
export class FormDialog implements Dialog {
  readonly title: string;
  readonly #done: (filled: Filled) => void;
  readonly #note: string;
  #entries: Entry[];
  #at = 0;
  #fault = '';
  #isAsking: boolean;
  /** There are more fields than there is room for. */
  #isCut = false;

  constructor(
    title: string,
    { keys, flags, given = {}, note = '', isAsking = false }: FormInput,
    done: (filled: Filled) => void,
  ) {
    this.title = title;
    this.#done = done;
    this.#note = note;
    this.#isAsking = isAsking;
    this.#entries = [
      ...Object.entries(keys).map(([name, { word, says }]) =>
        entryOf({ name, label: word, says, isRequired: true, flag: undefined }),
      ),
      ...Object.entries(flags).map(([name, flag]) => entryOf({ ...ofFlag(name, flag), text: given[name] })),
    ];
  }

  /** The fields begin with what is set. */
  begin(current: object): void {
    this.#isAsking = false;
    this.#entries = this.#entries.map((entry) => {
      if (!entry.flag) return entry;
      const was = inWords(readPart(current, entry.name));
      return entryOf({ ...entry, was, text: was });
    });
  }

  beginWith(lines: readonly Line[]): void {
    this.#isAsking = false;
    this.#entries = lines.map(({ name, label, flag, current }) =>
      entryOf({ ...ofFlag(name, flag), label: clean(label), was: current, text: current }),
    );
  }

  get keys(): string {
    if (this.#isAsking) return 'esc leave it';
    const choose = choicesOf(this.#entries[this.#at]).length > 0 ? '←→ choose   ' : '';
    const enter = this.#at === this.#entries.length - 1 ? 'enter' : 'enter next   ctrl-s';
    const where = this.#isCut ? `${this.#at + 1} of ${this.#entries.length}   ` : '';
    return `${where}${choose}${enter} do it   ↑↓ tab other fields   esc leave it`;
  }

  draw(width: number, height: number): string[] {
    if (this.#isAsking) return [faint('Asking what is set …')];
    const labels = Math.min(
      Math.max(...this.#entries.map(({ label }) => shownWidth(label))) + 3,
      Math.floor(width / 2),
    );
    const drawn = this.#entries.map((entry, at) => drawEntry(entry, at === this.#at, labels, width));
    const below = this.#fault === '' ? this.#notes(width).map(faint) : wrap(this.#fault, width);
    const room = Math.max(drawn[this.#at]?.length ?? 1, height - below.length);
    // The one in hand stays in sight.
    let first = 0;
    while (first < this.#at && drawn.slice(first, this.#at + 1).flat().length > room) first++;
    const shown = drawn.slice(first).flat();
    this.#isCut = first > 0 || shown.length > room;
    return [...shown.slice(0, room), ...below].slice(0, Math.max(1, height));
  }

  #notes(width: number): string[] {
    const isChange = this.#entries.some(({ was }) => was !== undefined);
    const notes = [
      ...(isChange ? ['Only what you change is sent.'] : []),
      ...(!isChange && this.#entries.some(({ isRequired }) => isRequired) ? ['* has to be filled'] : []),
      ...(this.#note === '' ? [] : [this.#note]),
    ];
    return notes.flatMap((note) => wrap(note, width));
  }

  key(key: string): boolean {
    if (key === 'esc') return false;
    if (this.#isAsking) return true;
    const last = this.#entries.length - 1;
    if (key === 'ctrl-s' || (key === 'enter' && this.#at === last)) return this.#submit();
    if (key === 'enter' || key === 'tab' || key === 'down') this.#at = this.#at === last ? 0 : this.#at + 1;
    else if (key === 'shift-tab' || key === 'up') this.#at = this.#at === 0 ? last : this.#at - 1;
    else this.#type(key);
    return true;
  }

  #type(key: string): void {
    const entry = this.#entries[this.#at];
    if (!entry || entry.isFixed) return;
    this.#fault = '';
    const choices = choicesOf(entry);
    const at = choices.indexOf(entry.edit.text);
    const step = { right: 1, ' ': 1, left: -1 }[key];
    if (choices.length > 0 && step !== undefined) {
      const next = at === -1 ? (step > 0 ? 0 : choices.length - 1) : (at + step + choices.length) % choices.length;
      return entry.edit.set(choices[next] ?? '');
    }
    // Whoever types another choice does not mean to add to this one.
    if (at !== -1 && [...key].length === 1) entry.edit.set('');
    entry.edit.key(key);
  }

  paste(text: string): void {
    const entry = this.#entries[this.#at];
    if (!entry || entry.isFixed || this.#isAsking) return;
    this.#fault = '';
    if (choicesOf(entry).includes(entry.edit.text)) entry.edit.set('');
    entry.edit.insert(text);
  }

  /** It was handed in, and is to be tried again. */
  refuse(fault: string): void {
    this.#fault = fault;
  }

  takeBack(fault: string): void {
    if (this.#fault === fault) this.#fault = '';
  }

  /** A message of the API, with its fields called as their lines here are. */
  inItsWords = (message: string, paths: readonly string[]): string =>
    message.replaceAll(FIELD, (path) => (paths.includes(path) || path.includes('_') ? this.#labelOf(path) : path));

  #labelOf(path: string): string {
    const entry = this.#entries.find(({ name }) => path === name || path.startsWith(`${name}.`));
    if (!entry) return path;
    const at = /^\.(\d+)$/.exec(path.slice(entry.name.length))?.[1];
    const isOneOfMany = at !== undefined && /[\s,]/.test(entry.edit.text.trim());
    return isOneOfMany ? `${entry.label} (number ${Number(at) + 1})` : entry.label;
  }

  #submit(): boolean {
    const fault = this.#entries.map((entry, at) => ({ at, says: faultOf(entry) })).find(({ says }) => says !== '');
    if (fault) {
      this.#at = fault.at;
      this.#fault = `${this.#entries[fault.at]?.label} ${fault.says}.`;
      return true;
    }
    const changed = this.#entries.filter(isChanged);
    if (changed.length === 0 && this.#entries.some(({ was }) => was !== undefined)) {
      this.#fault = 'Nothing is changed yet.';
      return true;
    }
    const wholes = new Set(changed.filter(({ flag }) => flag?.isPart).map(({ name }) => outerOf(name)));
    const sent = this.#entries.filter(
      (entry) => changed.includes(entry) || (wholes.has(outerOf(entry.name)) && entry.edit.text.trim() !== ''),
    );
    const path = sent
      .filter(({ flag }) => flag === undefined)
      .map(({ name, edit }) => [name, edit.text.trim()] as const);
    const body = sent.flatMap((entry) => (entry.flag ? [[entry.name, valueOf(entry, entry.flag)] as const] : []));
    this.#done({ path: Object.fromEntries(path), body: nest(body) });
    return false;
  }
}

const outerOf = (name: string): string => name.split('.')[0] ?? '';

function entryOf({
  text = '',
  ...line
}: Omit<Entry, 'edit' | 'isFixed' | 'was'> & { was?: string | undefined; text?: string | undefined }): Entry {
  return { ...line, was: line.was, edit: new LineEdit(text), isFixed: text.length > LONG };
}

const ofFlag = (name: string, flag: Flag) => ({
  ...{ name, label: (flag.flag ?? name).replaceAll(/[-_]/g, ' '), says: flag.says },
  ...{ isRequired: flag.isRequired ?? false, flag },
});

const choicesOf = (entry: Entry | undefined): readonly string[] =>
  entry?.flag?.isBoolean ? ['true', 'false'] : (entry?.flag?.choices ?? []);

function drawEntry(entry: Entry, isHere: boolean, labels: number, width: number): string[] {
  const { label, says, isRequired, flag, edit, isFixed, was } = entry;
  const room = width - labels - 2;
  const seen = flag?.isSecret ? new LineEdit('•'.repeat(edit.text.length)) : edit;
  const value = isHere ? seen.draw(room) : seen.drawAway(room);
  const mark = isRequired && was === undefined ? ' *' : '';
  const said = isHere ? wrap(clean(says), room).map((line) => `  ${' '.repeat(labels)}${faint(line)}`) : [];
  return [`${isHere ? '› ' : '  '}${fit(label + mark, labels - 1)} ${isFixed ? tooLong(edit) : value}`, ...said];
}

const tooLong = ({ text }: LineEdit): string => faint(`${text.length} characters: changed on the command line`);

const isChanged = ({ was, edit }: Entry): boolean =>
  was === undefined ? edit.text.trim() !== '' : edit.text.trim() !== was.trim();

/** What is wrong with a field before anything is asked; nothing, where it is left as it was. */
function faultOf(entry: Entry): string {
  const { flag, isRequired, was = '', edit } = entry;
  const text = edit.text.trim();
  if (text === '' && isRequired && was === '') return 'has to be filled';
  if (!isChanged(entry)) return '';
  if (text === '') return flag?.isClearable || flag?.isList ? '' : `cannot be empty; it was ${was}`;
  if (flag?.isJson) return isJson(text) ? '' : 'must be JSON';
  if (flag?.isBoolean) return /^(true|false)$/.test(text) ? '' : 'must be true or false';
  return flag?.isNumber && !/^\d+$/.test(text) ? 'must be a whole number' : '';
}

/** `one.two` is a field inside of another. */
function nest(fields: readonly (readonly [name: string, value: unknown])[]): Record<string, unknown> {
  const body: Record<string, unknown> = {};
  for (const [name, value] of fields) {
    const [outer = '', inner] = name.split('.');
    body[outer] = inner === undefined ? value : { ...(body[outer] as object | undefined), [inner]: value };
  }
  return body;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function valueOf({ edit, was = '' }: Entry, flag: Flag): unknown {
  const text = edit.text.trim();
  if (flag.isPairs) return pairsOf(text, was);
  if (flag.isList) return text.split(/[\s,]+/).filter((part) => part !== '');
  if (text === '') return null;
  if (flag.isJson) return JSON.parse(text);
  if (flag.isBoolean) return text === 'true';
  return flag.isNumber ? Number(text) : text;
}

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
