import { commonStart, type Entry } from './command-line.ts';
import { LineEdit } from './dialogs/line-edit.ts';
import { fit, inverse } from './draw/text.ts';
import type { History } from './history.ts';

interface PromptInput {
  text: string;
  /** What is wrong with what was typed before. */
  fault: string;
  history: History;
  /** What the line may mean; of a filter there is no such list. */
  entries?: (text: string) => readonly Entry[];
  /** What the line may become. */
  completions?: (text: string) => readonly string[];
}

/** How many entries are seen at once. */
const SEEN = 12;

/** A line behind `:` or `/`, with what was typed before, and behind `:` the list of what it may mean. */
export class Prompt {
  readonly sign: ':' | '/';
  readonly line: LineEdit;
  readonly fault: string;
  readonly #input: PromptInput;
  /** Which entry is in hand; none behind an empty line, until one is chosen. */
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

  /** Answers whether the line goes on, is done, or was left. */
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

  /** Through the list; above its beginning stands what was typed before. */
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

  /** Which entry is in hand, where there are more than are seen. */
  get where(): string {
    const count = this.entries.length;
    return count <= SEEN ? '' : this.#at < 0 ? `${count} in all` : `${this.#at + 1} of ${count}`;
  }

  /** The entries from top to bottom, each with its key and what it does. */
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
