import { LineEdit } from './dialogs/line-edit.ts';
import { fit, inverse } from './draw/text.ts';
import type { BoundAction, Section } from './catalog.ts';

export type Command =
  | { kind: 'quit' }
  | { kind: 'help' }
  | { kind: 'section'; section: Section; rest: string }
  | { kind: 'action'; label: string }
  | { kind: 'surplus'; label: string }
  | { kind: 'unknown'; word: string };

/** A possible meaning of a line after `:`. */
interface Entry {
  name: string;
  /** The key with the same effect without `:`. */
  key: string;
  says: string;
  command: Command;
}

const QUIT = ['quit', 'q', 'q!', 'exit'];

/**
 * Parses a line after `:` that is no entry. A section may be followed by a filter, or by the id of one of its items.
 */
export function readCommand(line: string, sections: readonly Section[], labels: readonly string[]): Command {
  const [word = '', ...rest] = line.trim().split(/\s+/);
  if (word === '') return { kind: 'help' };
  const named = sections.filter(({ name }) => name.startsWith(word));
  const section = named.find(({ name }) => name === word) ?? (named.length === 1 ? named[0] : undefined);
  if (section) return { kind: 'section', section, rest: rest.join(' ') };
  const surplus = labels.find((label) => line.trim().startsWith(`${label} `));
  return surplus === undefined ? { kind: 'unknown', word } : { kind: 'surplus', label: surplus };
}

/** Returns the entries that a line may mean, the best match first; all of them for an empty line. */
export function entriesFor(
  line: string,
  sections: readonly Section[],
  actions: readonly Pick<BoundAction, 'key' | 'label' | 'action'>[],
): readonly Entry[] {
  const typed = line.trimStart().toLowerCase();
  const all = [
    ...sections.map((section, at): Entry => {
      const { name, summary: says } = section;
      return { name, key: at < 10 ? String((at + 1) % 10) : '', says, command: { kind: 'section', section, rest: '' } };
    }),
    ...actions.map(({ key, label, action }): Entry => {
      return { name: label, key, says: action.summary, command: { kind: 'action', label } };
    }),
    { name: 'help', key: '?', says: 'the keys of this screen', command: { kind: 'help' } } as const,
    { name: 'quit', key: '', says: 'quit the console', command: { kind: 'quit' } } as const,
  ];
  const ranked = all.map((entry) => ({ entry, rank: rankEntry(entry, typed) }));
  return ranked
    .filter((one): one is { entry: Entry; rank: number } => one.rank !== undefined)
    .sort((a, b) => a.rank - b.rank)
    .map(({ entry }) => entry);
}

/** Ranks an entry by how well it matches the typed text; undefined if it does not match. */
function rankEntry({ name, says, command }: Entry, typed: string): number | undefined {
  if (typed === '' || name === typed || (command.kind === 'quit' && QUIT.includes(typed))) return 0;
  if (name.startsWith(typed)) return 1;
  if (name.split(/[- ]/).some((word) => word.startsWith(typed))) return 2;
  if (name.includes(typed)) return 3;
  if (hasLetters(name, typed)) return 4;
  return typed.length > 2 && says.toLowerCase().includes(typed) ? 5 : undefined;
}

/** The letters in their order, others between them: `wh` is in `webhooks`. */
function hasLetters(name: string, typed: string): boolean {
  let at = -1;
  return [...typed].every((letter) => (at = name.indexOf(letter, at + 1)) !== -1);
}

/** Returns the completions of the last word of a filter: names, or values after a name. */
export function filterCompletions(text: string, names: Readonly<Record<string, readonly string[]>>): string[] {
  const [, before = '', last = ''] = /^(.*?)(\S*)$/s.exec(text) ?? [];
  const words = Object.entries(names).flatMap(([name, values]) =>
    last.startsWith(`${name}=`) ? values.map((value) => `${name}=${value}`) : [`${name}=`],
  );
  return words.filter((word) => word.startsWith(last) && word !== last).map((word) => before + word);
}

/** Returns the longest common beginning. */
function commonStart(words: readonly string[]): string {
  const [first = '', ...others] = words;
  let length = first.length;
  for (const word of others) while (!word.startsWith(first.slice(0, length))) length--;
  return first.slice(0, length);
}

interface PromptInput {
  text: string;
  /** The fault of the filter that was typed before. */
  fault: string;
  history: History;
  /** Returns the entries that the line may mean; undefined for a filter. */
  entries?: (text: string) => readonly Entry[];
  /** Returns the completions of the line. */
  completions?: (text: string) => readonly string[];
}

/** The number of entries that are visible at once. */
const SEEN = 12;

/** A line after `:` or `/`, with its history, and after `:` the list of entries that it may mean. */
export class Prompt {
  readonly sign: ':' | '/';
  readonly line: LineEdit;
  readonly fault: string;
  readonly #input: PromptInput;
  /** The index of the selected entry; none for an empty line, until one is chosen. */
  #at: number;
  #isOfHistory = false;

  constructor(sign: ':' | '/', input: PromptInput) {
    this.sign = sign;
    this.line = new LineEdit(input.text);
    this.fault = input.fault;
    this.#input = input;
    this.#at = this.#first();
    input.history.rewind();
  }

  get entries(): readonly Entry[] {
    return this.#input.entries?.(this.line.text) ?? [];
  }

  get completions(): readonly string[] {
    return this.#input.completions?.(this.line.text) ?? [];
  }

  get chosen(): Entry | undefined {
    return this.entries[this.#at];
  }

  /** Returns whether the line continues, is done, or was left. */
  key(key: string): 'goes on' | 'done' | 'left' {
    if (key === 'esc' || (key === 'backspace' && this.line.text === '')) return 'left';
    if (key === 'enter') {
      this.#input.history.add(this.line.text);
      return 'done';
    }
    if (key === 'up' || key === 'down') this.#step(key);
    else {
      if (key === 'tab') this.line.set(this.#completed());
      else this.line.key(key);
      this.#typed();
    }
    return 'goes on';
  }

  insert(text: string): void {
    this.line.insert(text);
    this.#typed();
  }

  #typed(): void {
    this.#at = this.#first();
    this.#isOfHistory = false;
  }

  #first(): number {
    return this.line.text === '' ? -1 : 0;
  }

  /** Moves through the list; above its beginning is the typed line. */
  #step(key: 'up' | 'down'): void {
    const { entries, line } = this;
    const isList = entries.length > 0 && !this.#isOfHistory && (key === 'down' || this.#at > this.#first());
    if (isList) this.#at = Math.max(this.#first(), Math.min(entries.length - 1, this.#at + (key === 'down' ? 1 : -1)));
    else if (line.text === '' || this.#isOfHistory || entries.length === 0) {
      line.set(this.#input.history.step(key, line.text));
      this.#typed();
      this.#isOfHistory = true;
    }
  }

  #completed(): string {
    const { line, chosen, completions } = this;
    const start = chosen?.name ?? commonStart(completions);
    return chosen || start.length > line.text.length ? start : line.text;
  }

  /** The position of the selected entry, if not all entries are visible. */
  get where(): string {
    const count = this.entries.length;
    return count <= SEEN ? '' : this.#at < 0 ? `${count} in total` : `${this.#at + 1} of ${count}`;
  }

  /** Draws the entries from top to bottom, each with its key and what it does. */
  draw(width: number, height: number): string[] {
    const { entries } = this;
    const seen = Math.min(SEEN, height, entries.length);
    const top = Math.max(0, Math.min(this.#at - seen + 1, entries.length - seen));
    const names = Math.max(...entries.map(({ name }) => name.length)) + 2;
    return entries.slice(top, top + seen).map(({ key, name, says }, index) => {
      const isInHand = top + index === this.#at;
      const line = fit(`${isInHand ? '›' : ' '} ${key.padEnd(2)} ${name.padEnd(names)}${says}`, width);
      return isInHand ? inverse(line) : line;
    });
  }
}

const KEPT = 100;

/** The lines typed at a prompt, which ↑ and ↓ recall. */
export class History {
  readonly #lines: string[] = [];
  /** The index of the shown line; after the last one comes the unfinished line. */
  #at = 0;
  #unfinished = '';

  /** Goes to the end, after the line that was typed last. */
  rewind(): void {
    this.#at = this.#lines.length;
  }

  add(line: string): void {
    if (line.trim() !== '' && line !== this.#lines.at(-1)) this.#lines.push(line);
    if (this.#lines.length > KEPT) this.#lines.shift();
    this.rewind();
  }

  step(key: 'up' | 'down', now: string): string {
    if (this.#at === this.#lines.length) this.#unfinished = now;
    this.#at = Math.max(0, Math.min(this.#lines.length, this.#at + (key === 'up' ? -1 : 1)));
    return this.#lines[this.#at] ?? this.#unfinished;
  }
}
