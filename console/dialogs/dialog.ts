import { cleanLines, howToType, isNameTyped, nameToType, clean } from '../../cli/output/index.ts';
import type { BoundAction } from '../catalog.ts';
import { linesInWords, computePosition } from '../draw/scroll.ts';
import { bold, faint, fit, inverse, shownWidth, wrap } from '../draw/text.ts';
import { LineEdit } from './line-edit.ts';

/** A dialog covers a screen until it is answered. It takes every key. */
export interface Dialog {
  title: string;
  draw: (width: number, height: number) => string[];
  /** Handles a key; returns false once the dialog is over. */
  key: (key: string) => boolean;
  /** True while its subject is being loaded: until then only Esc is handled. */
  isAsking?: boolean;
  paste?: (text: string) => void;
  copy?: () => string | undefined;
  /** Its keys, for the last line; separated by three spaces. */
  keys: string;
  /** The position of the selected line, if not all lines are visible. */
  where?: string;
}

/** Returns pasted text as a single line. */
export const inOneLine = (text: string): string => text.replaceAll(/\s+/g, ' ').trim();

/** Asks yes or no before a reversible action. A long description can be scrolled under the question. */
export class AskDialog implements Dialog {
  readonly title: string;
  readonly #lines: readonly string[];
  readonly #yes: () => void;
  readonly #shows: (width: number) => readonly string[];
  #scroll = 0;
  /** The number of lines, and how many of them are visible. */
  #length = 0;
  #space = 1;
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
    return `y confirm   n cancel${this.#length > this.#space ? '   ↑↓ scroll' : ''}`;
  }

  get where(): string {
    return linesInWords(this.#scroll, this.#space, this.#length);
  }

  draw(width: number, height: number): string[] {
    const unsure = this.#isUnsure ? ['Press y to confirm or n to cancel.'] : [];
    const ask = [...this.#lines, ...unsure].flatMap((line) => wrap(line, width));
    const shown = this.#shows(width).flatMap((line) => wrap(line, width));
    if (shown.length === 0) return ask;
    this.#length = shown.length;
    this.#space = Math.max(1, height - ask.length - 1);
    this.#scroll = Math.max(0, Math.min(this.#scroll, this.#length - this.#space));
    return [...ask, '', ...shown.slice(this.#scroll, this.#scroll + this.#space)];
  }

  key(key: string): boolean {
    const to = computePosition(key, this.#scroll, this.#space, this.#length);
    if (to !== undefined) {
      this.#scroll = to;
      return true;
    }
    if (key === 'y' || key === 'Y') this.#yes();
    this.#isUnsure = key === 'enter';
    return !['y', 'Y', 'n', 'N', 'q', 'esc'].includes(key);
  }
}

/** Asks before an irreversible action: the name has to be typed, as on the command line. */
export class ConfirmDialog implements Dialog {
  readonly title: string;
  readonly keys = 'enter confirm, once the name is typed   esc cancel';
  readonly #says: string;
  readonly #where: string;
  readonly #yes: () => void;
  #name: string | undefined;
  readonly #line = new LineEdit();
  #isWrong = false;

  constructor({ title, says, where, yes }: { title: string; says: string; where: string; yes: () => void }) {
    this.title = title;
    this.#says = says;
    this.#where = where;
    this.#yes = yes;
  }

  name(name: string): void {
    this.#name = nameToType(name);
  }

  draw(width: number): string[] {
    const ask =
      this.#name === undefined
        ? [faint('Loading its name …')]
        : [
            ...wrap(`Type ${bold(this.#name)}${howToType(this.#name)} to do it on ${this.#where}:`, width),
            `> ${this.#line.draw(width - 2)}`,
          ];
    const wrong = this.#isWrong ? ['The name does not match; nothing was changed.'] : [];
    return [...wrap(`This will ${this.#says}. It cannot be undone.`, width), '', ...ask, ...wrong];
  }

  key(key: string): boolean {
    if (key === 'esc') return false;
    if (key === 'enter') {
      this.#isWrong = this.#name === undefined || !isNameTyped(this.#line.text, this.#name);
      if (!this.#isWrong) this.#yes();
      return this.#isWrong;
    }
    this.#isWrong = false;
    this.#line.key(key);
    return true;
  }

  paste(text: string): void {
    this.#line.insert(inOneLine(text));
  }
}

/** Lists the available actions, with the keys that start them without this menu. */
export class MenuDialog implements Dialog {
  readonly title = 'Actions';
  readonly #actions: readonly BoundAction[];
  readonly #choose: (bound: BoundAction) => void;
  #at = 0;
  #isCut = false;

  constructor(actions: readonly BoundAction[], choose: (bound: BoundAction) => void) {
    this.#actions = actions;
    this.#choose = choose;
  }

  get keys(): string {
    return 'enter or its key run it   ↑↓ move   esc cancel';
  }

  get where(): string {
    return this.#isCut ? `${this.#at + 1} of ${this.#actions.length}` : '';
  }

  draw(width: number, height: number): string[] {
    this.#isCut = this.#actions.length > height;
    const top = Math.max(0, this.#at - height + 1);
    const labels = Math.max(...this.#actions.map(({ label }) => label.length)) + 2;
    return this.#actions.slice(top, top + height).map(({ key, label, action }, at) => {
      const line = fit(
        `${top + at === this.#at ? '›' : ' '} ${key.padEnd(2)} ${label.padEnd(labels)}${action.summary}`,
        width,
      );
      return top + at === this.#at ? inverse(line) : line;
    });
  }

  key(key: string): boolean {
    if (key === 'esc' || key === 'q') return false;
    if (key === 'down' || key === 'j') this.#at = Math.min(this.#actions.length - 1, this.#at + 1);
    else if (key === 'up' || key === 'k') this.#at = Math.max(0, this.#at - 1);
    else {
      const chosen = key === 'enter' ? this.#actions[this.#at] : this.#actions.find((bound) => bound.key === key);
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
  readonly #text: (width: number) => string;
  readonly #copy: string | undefined;
  #scroll = 0;
  #length = 0;
  #height = 0;

  constructor(title: string, text: string | ((width: number) => string), copy?: string) {
    this.title = title;
    this.#text = typeof text === 'string' ? () => cleanLines(text) : text;
    this.#copy = copy;
    this.keys = `${copy === undefined ? '' : 'y copy   '}↑↓ scroll   esc close`;
  }

  copy = (): string | undefined => this.#copy;

  get where(): string {
    return linesInWords(this.#scroll, this.#height, this.#length);
  }

  draw(width: number, height: number): string[] {
    const lines = wrap(this.#text(width), width);
    this.#length = lines.length;
    this.#height = height;
    this.#scroll = Math.max(0, Math.min(this.#scroll, lines.length - height));
    return lines.slice(this.#scroll, this.#scroll + height);
  }

  key(key: string): boolean {
    const to = computePosition(key, this.#scroll, this.#height, this.#length);
    if (to === undefined) return !['esc', 'q', 'enter', '?'].includes(key);
    this.#scroll = to;
    return true;
  }
}

/** Asks for one line. `done` returns the fault of the line, or nothing once it is taken. */
export class LineDialog implements Dialog {
  readonly title: string;
  readonly keys = 'enter continue   esc cancel';
  readonly #says: string;
  readonly #line: LineEdit;
  readonly #done: (text: string) => string;
  readonly #leave: () => void;
  #fault = '';

  /** `leave` is called when it is canceled. */
  constructor({
    title,
    says,
    text = '',
    done,
    leave = () => undefined,
  }: {
    title: string;
    says: string;
    text?: string;
    done: (text: string) => string;
    leave?: () => void;
  }) {
    this.title = title;
    this.#says = says;
    this.#line = new LineEdit(text);
    this.#done = done;
    this.#leave = leave;
  }

  draw(width: number): string[] {
    const fault = this.#fault === '' ? [] : wrap(clean(this.#fault), width);
    return [...wrap(this.#says, width), `> ${this.#line.draw(width - 2)}`, ...fault];
  }

  key(key: string): boolean {
    if (key === 'esc') {
      this.#leave();
      return false;
    }
    this.#fault = key === 'enter' ? this.#done(this.#line.text.trim()) : '';
    if (key === 'enter') return this.#fault !== '';
    this.#line.key(key);
    return true;
  }

  paste(text: string): void {
    this.#line.insert(inOneLine(text));
  }
}

export interface Choice {
  label: string;
  /** Set now. */
  isOn?: boolean;
  choose: () => void;
}

/** Chooses one of several, by its number or by the selection. */
export class ChooseDialog implements Dialog {
  readonly title: string;
  readonly keys = 'enter or its number choose   ↑↓ move   esc cancel';
  #choices: readonly Choice[] = [];
  #at = 0;
  isAsking = true;

  /** Without choices, the dialog shows that they are being loaded. */
  constructor(title: string, choices?: readonly Choice[]) {
    this.title = title;
    if (choices) this.begin(choices);
  }

  begin(choices: readonly Choice[]): void {
    this.#choices = choices;
    this.isAsking = false;
  }

  draw(width: number, height: number): string[] {
    if (this.isAsking) return [faint('Loading …')];
    const top = Math.max(0, this.#at - height + 1);
    return this.#choices.slice(top, top + height).map(({ label, isOn }, index) => {
      const at = top + index;
      const number = at < 9 ? String(at + 1) : ' ';
      const set = isOn === undefined ? '' : isOn ? '[x] ' : '[ ] ';
      const line = fit(`${at === this.#at ? '›' : ' '} ${number}  ${set}${clean(label)}`, width);
      return at === this.#at ? inverse(line) : line;
    });
  }

  key(key: string): boolean {
    if (key === 'esc' || key === 'q') return false;
    if (key === 'down' || key === 'j') this.#at = Math.min(this.#choices.length - 1, this.#at + 1);
    else if (key === 'up' || key === 'k') this.#at = Math.max(0, this.#at - 1);
    else {
      const chosen = this.#choices[key === 'enter' ? this.#at : /^[1-9]$/.test(key) ? Number(key) - 1 : -1];
      chosen?.choose();
      return chosen === undefined;
    }
    return true;
  }
}

export interface Pick {
  name: string;
  says: string;
  choose: () => void;
}

/** Chooses one of many by typing a part of its name, or of what it says. */
export class PickDialog implements Dialog {
  readonly title: string;
  readonly #empty: string;
  readonly #leave: () => void;
  readonly #line = new LineEdit();
  #picks: readonly Pick[] = [];
  #at = 0;
  #isCut = false;
  isAsking = true;

  /** `leave` is called when nothing is chosen; `empty` is shown if there is nothing to choose. */
  constructor({ title, empty, leave }: { title: string; empty: string; leave: () => void }) {
    this.title = title;
    this.#empty = empty;
    this.#leave = leave;
  }

  begin(picks: readonly Pick[]): void {
    this.#picks = picks;
    this.isAsking = false;
  }

  /** Returns the matches, first those whose name begins with the typed text. */
  get #found(): readonly Pick[] {
    const typed = this.#line.text.trim().toLowerCase();
    const rank = ({ name, says }: Pick): number => {
      if (name.toLowerCase().startsWith(typed)) return 0;
      return `${name} ${says}`.toLowerCase().includes(typed) ? 1 : 2;
    };
    return this.#picks.filter((pick) => rank(pick) < 2).toSorted((one, other) => rank(one) - rank(other));
  }

  get keys(): string {
    return this.isAsking ? 'esc cancel' : 'type to search   ↑↓ move   enter choose   esc cancel';
  }

  get where(): string {
    return this.#isCut ? `${this.#at + 1} of ${this.#found.length}` : '';
  }

  draw(width: number, height: number): string[] {
    if (this.isAsking) return [faint('Loading …')];
    if (this.#picks.length === 0) return wrap(this.#empty, width);
    const found = this.#found;
    const room = Math.max(1, height - 1);
    this.#isCut = found.length > room;
    const top = Math.max(0, this.#at - room + 1);
    const names = Math.min(Math.floor(width / 2), Math.max(...this.#picks.map(({ name }) => shownWidth(name))) + 2);
    const lines = found.slice(top, top + room).map(({ name, says }, index) => {
      const isHere = top + index === this.#at;
      const line = fit(`${isHere ? '›' : ' '} ${fit(clean(name), names)} ${clean(says)}`, width);
      return isHere ? inverse(line) : line;
    });
    const none = found.length === 0 ? [faint('Nothing is called so.')] : [];
    return [`> ${this.#line.draw(width - 2)}`, ...lines, ...none];
  }

  key(key: string): boolean {
    if (key === 'esc') {
      this.#leave();
      return false;
    }
    if (key === 'down') this.#at = Math.min(this.#found.length - 1, this.#at + 1);
    else if (key === 'up') this.#at = Math.max(0, this.#at - 1);
    else if (key === 'enter') this.#found[this.#at]?.choose();
    else {
      this.#line.key(key);
      this.#at = 0;
    }
    return true;
  }

  paste(text: string): void {
    this.#line.insert(inOneLine(text));
    this.#at = 0;
  }
}
