import type { Action, Flag, Key } from '../../cli/families/index.ts';
import { clean, cleanLines } from '../../cli/output/index.ts';
import type { Doing } from '../catalog.ts';
import { bold, faint, fit, inverse, wrap } from '../draw/text.ts';
import { typeInto } from './type-into.ts';

/** What stands over a screen until it is answered. It takes every key. */
export interface Dialog {
  title: string;
  draw: (width: number, height: number) => string[];
  /** Answers false once it is over. */
  key: (key: string) => boolean;
  paste?: (text: string) => void;
  copy?: () => string | undefined;
  /** What its keys are, for the last line. */
  keys: string;
}

/** A line that is being typed. */
const typed = (text: string): string => `${clean(text)}${inverse(' ')}`;

/** Yes or no, for what can be taken back. What would be done may be long: it is scrolled under the question. */
export class AskDialog implements Dialog {
  readonly title: string;
  readonly #lines: readonly string[];
  readonly #yes: () => void;
  readonly #shows: (width: number) => readonly string[];
  #scroll = 0;
  #below = 0;
  #isUnsure = false;

  constructor(
    title: string,
    lines: readonly string[],
    yes: () => void,
    shows: (width: number) => readonly string[] = () => [],
  ) {
    this.title = title;
    this.#lines = lines;
    this.#yes = yes;
    this.#shows = shows;
  }

  get keys(): string {
    return `y do it   n leave it${this.#below > 0 || this.#scroll > 0 ? '   ↑↓ scroll' : ''}`;
  }

  draw(width: number, height: number): string[] {
    const unsure = this.#isUnsure ? ['Enter decides nothing here: y does it, n leaves it.'] : [];
    const ask = [...this.#lines, ...unsure].flatMap((line) => wrap(line, width));
    const shown = this.#shows(width).flatMap((line) => wrap(line, width));
    if (shown.length === 0) return ask;
    const space = Math.max(1, height - ask.length - 1);
    this.#scroll = Math.max(0, Math.min(this.#scroll, shown.length - space));
    this.#below = Math.max(0, shown.length - this.#scroll - space);
    return [...ask, '', ...shown.slice(this.#scroll, this.#scroll + space)];
  }

  key(key: string): boolean {
    if (['down', 'j', 'up', 'k', 'pagedown', 'pageup'].includes(key)) {
      this.#scroll += (/^page/.test(key) ? 10 : 1) * (['down', 'j', 'pagedown'].includes(key) ? 1 : -1);
      return true;
    }
    if (key === 'y' || key === 'Y') this.#yes();
    this.#isUnsure = key === 'enter';
    return !['y', 'Y', 'n', 'N', 'q', 'esc'].includes(key);
  }
}

/** What cannot be undone: the name has to be typed, as on the command line. */
export class ConfirmDialog implements Dialog {
  readonly title: string;
  readonly keys = 'enter do it, once the name is typed   esc leave it';
  readonly #says: string;
  readonly #where: string;
  readonly #yes: () => void;
  #name: string | undefined;
  #text = '';
  #isWrong = false;

  constructor({ title, says, where, yes }: { title: string; says: string; where: string; yes: () => void }) {
    this.title = title;
    this.#says = says;
    this.#where = where;
    this.#yes = yes;
  }

  name(name: string): void {
    this.#name = clean(name).trim();
  }

  draw(width: number): string[] {
    const ask =
      this.#name === undefined
        ? [faint('Asking for its name …')]
        : [...wrap(`Type ${bold(this.#name)} to do it on ${this.#where}:`, width), `> ${typed(this.#text)}`];
    const wrong = this.#isWrong ? ['That is not the name; nothing was changed.'] : [];
    return [...wrap(`This will ${this.#says}. It cannot be undone.`, width), '', ...ask, ...wrong];
  }

  key(key: string): boolean {
    if (key === 'esc') return false;
    if (key === 'enter') {
      this.#isWrong = this.#name === undefined || this.#text.trim() !== this.#name;
      if (!this.#isWrong) this.#yes();
      return this.#isWrong;
    }
    this.#isWrong = false;
    this.#text = typeInto(this.#text, key);
    return true;
  }

  paste(text: string): void {
    this.#text += text;
  }
}

interface Line {
  name: string;
  label: string;
  says: string;
  isRequired: boolean;
  flag: Flag | undefined;
  text: string;
}

export interface Filled {
  path: Record<string, string>;
  body: Record<string, unknown>;
}

/** A line for each field of a call. */
export class FormDialog implements Dialog {
  readonly title: string;
  readonly keys = 'enter next, and do it at the end   ↑↓ tab other fields   esc leave it';
  readonly #lines: Line[];
  readonly #done: (filled: Filled) => void;
  readonly #note: string;
  #at = 0;
  #fault = '';

  constructor(
    title: string,
    {
      keys,
      flags,
      given,
      note = '',
    }: {
      keys: Readonly<Record<string, Key>>;
      flags: Action['flags'];
      given: Readonly<Record<string, string>>;
      note?: string | undefined;
    },
    done: (filled: Filled) => void,
  ) {
    this.title = title;
    this.#done = done;
    this.#note = note;
    this.#lines = [
      ...Object.entries(keys).map(([name, { word, says }]) => ({
        name,
        label: word,
        says,
        isRequired: true,
        flag: undefined,
        text: '',
      })),
      ...Object.entries(flags).map(([name, flag]) => ({
        ...{ name, label: (flag.flag ?? name).replaceAll(/[-_]/g, ' '), says: flag.says },
        ...{ isRequired: flag.isRequired ?? false, flag, text: given[name] ?? '' },
      })),
    ];
  }

  draw(width: number): string[] {
    const labels = Math.max(...this.#lines.map(({ label }) => label.length)) + 2;
    const lines = this.#lines.flatMap(({ label, text, says, isRequired, flag }, at) => {
      const isHere = at === this.#at;
      const seen = flag?.isSecret ? '•'.repeat(text.length) : text;
      const value = isHere ? typed(seen) : clean(seen);
      const said = isHere ? wrap(says, width - labels - 2).map((line) => `  ${' '.repeat(labels)}${faint(line)}`) : [];
      return [`${isHere ? '› ' : '  '}${(label + (isRequired ? ' *' : '')).padEnd(labels)}${value}`, ...said];
    });
    if (this.#fault !== '') return [...lines, ...wrap(this.#fault, width)];
    const isAnyRequired = this.#lines.some(({ isRequired }) => isRequired);
    const notes = [...(isAnyRequired ? ['* has to be filled'] : []), ...(this.#note === '' ? [] : [this.#note])];
    return [...lines, ...notes.flatMap((note) => wrap(note, width)).map(faint)];
  }

  key(key: string): boolean {
    const last = this.#lines.length - 1;
    if (key === 'esc') return false;
    if (key === 'enter' && this.#at === last) return this.#submit();
    if (key === 'enter' || key === 'tab' || key === 'down') this.#at = this.#at === last ? 0 : this.#at + 1;
    else if (key === 'shift-tab' || key === 'up') this.#at = this.#at === 0 ? last : this.#at - 1;
    else this.paste('', key);
    return true;
  }

  paste(text: string, key = ''): void {
    const line = this.#lines[this.#at];
    if (line) line.text = text === '' ? typeInto(line.text, key) : line.text + text;
    this.#fault = '';
  }

  /** It was handed in, and is to be tried again. */
  refuse(fault: string): void {
    this.#fault = fault;
  }

  takeBack(fault: string): void {
    if (this.#fault === fault) this.#fault = '';
  }

  #submit(): boolean {
    const missing = this.#lines.findIndex(({ isRequired, text }) => isRequired && text.trim() === '');
    const wrong = this.#lines.findIndex(({ flag, text }) => text.trim() !== '' && !isOfKind(flag, text.trim()));
    const at = missing === -1 ? wrong : missing;
    if (at !== -1) {
      this.#at = at;
      this.#fault = `${this.#lines[at]?.label} ${at === missing ? 'has to be filled' : mustBe(this.#lines[at]?.flag)}.`;
      return true;
    }
    const filled = this.#lines.filter(({ text }) => text.trim() !== '');
    const inPath = filled
      .filter(({ flag }) => flag === undefined)
      .map(({ name, text }) => [name, text.trim()] as const);
    const inBody = filled.flatMap(({ name, flag, text }) =>
      flag ? [[name, valueOf(flag, text.trim())] as const] : [],
    );
    this.#done({ path: Object.fromEntries(inPath), body: nest(inBody) });
    return false;
  }
}

const mustBe = (flag: Flag | undefined): string => {
  if (flag?.isJson) return 'must be JSON';
  return flag?.isBoolean ? 'must be true or false' : 'must be a whole number';
};

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

function isOfKind(flag: Flag | undefined, text: string): boolean {
  if (flag?.isJson) return isJson(text);
  if (flag?.isBoolean) return /^(true|false)$/.test(text);
  return !flag?.isNumber || /^\d+$/.test(text);
}

function valueOf({ isNumber, isBoolean, isList, isJson: isParsed }: Flag, text: string): unknown {
  if (isParsed) return JSON.parse(text);
  if (isBoolean) return text === 'true';
  if (isList) return text.split(/[\s,]+/).filter((part) => part !== '');
  return isNumber ? Number(text) : text;
}

/** What can be done here, with the keys that do it without this menu. */
export class MenuDialog implements Dialog {
  readonly title = 'What to do';
  readonly keys = 'enter or its key do it   ↑↓ move   esc leave it';
  readonly #doings: readonly Doing[];
  readonly #choose: (doing: Doing) => void;
  #at = 0;

  constructor(doings: readonly Doing[], choose: (doing: Doing) => void) {
    this.#doings = doings;
    this.#choose = choose;
  }

  draw(width: number, height: number): string[] {
    const top = Math.max(0, this.#at - height + 1);
    const labels = Math.max(...this.#doings.map(({ label }) => label.length)) + 2;
    return this.#doings.slice(top, top + height).map(({ key, label, action }, at) => {
      const line = fit(
        `${top + at === this.#at ? '›' : ' '} ${key.padEnd(2)} ${label.padEnd(labels)}${action.summary}`,
        width,
      );
      return top + at === this.#at ? inverse(line) : line;
    });
  }

  key(key: string): boolean {
    if (key === 'esc' || key === 'q') return false;
    if (key === 'down' || key === 'j') this.#at = Math.min(this.#doings.length - 1, this.#at + 1);
    else if (key === 'up' || key === 'k') this.#at = Math.max(0, this.#at - 1);
    else {
      const chosen = key === 'enter' ? this.#doings[this.#at] : this.#doings.find((doing) => doing.key === key);
      if (chosen) this.#choose(chosen);
      return chosen === undefined;
    }
    return true;
  }
}

/** A text that stays until it was read. */
export class TextDialog implements Dialog {
  readonly title: string;
  readonly keys: string;
  readonly #text: string;
  readonly #copy: string | undefined;
  #scroll = 0;
  #length = 0;
  #height = 0;

  constructor(title: string, text: string, copy?: string) {
    this.title = title;
    this.#text = cleanLines(text);
    this.#copy = copy;
    this.keys = `${copy === undefined ? '' : 'y copy it   '}↑↓ scroll   esc close`;
  }

  copy = (): string | undefined => this.#copy;

  draw(width: number, height: number): string[] {
    const lines = wrap(this.#text, width);
    this.#length = lines.length;
    this.#height = height;
    this.#scroll = Math.max(0, Math.min(this.#scroll, lines.length - height));
    return lines.slice(this.#scroll, this.#scroll + height);
  }

  key(key: string): boolean {
    const step: Readonly<Record<string, number>> = {
      up: -1,
      k: -1,
      down: 1,
      j: 1,
      pageup: -this.#height,
      pagedown: this.#height,
      ' ': this.#height,
    };
    if (step[key] === undefined) return !['esc', 'q', 'enter', '?'].includes(key);
    this.#scroll = Math.max(0, Math.min(this.#length - this.#height, this.#scroll + step[key]));
    return true;
  }
}
