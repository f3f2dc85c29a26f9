import { clean, measureWidth } from '../../cli/output/index.ts';
import { faint, wrap } from '../draw/text.ts';
import type { Dialog } from './dialog.ts';

interface Compose {
  title: string;
  /** The lines about its recipients. */
  head: readonly string[];
  text: string;
  send: (text: string) => void;
  keep: (text: string) => void;
  /** Receives the text when it is left unsent. */
  leave: (text: string) => void;
}

const SHARE = 0.6;

const segments = new Intl.Segmenter(undefined, { granularity: 'grapheme' });
const graphemes = (text: string): string[] => [...segments.segment(text)].map(({ segment }) => segment);

/**
 * An editor for a text of several lines, below the email it answers. The text is handed out however the dialog is left.
 */
export class ComposeDialog implements Dialog {
  readonly title: string;
  readonly keys = 'ctrl-s send   ctrl-d save as a draft   esc close and keep the text';
  readonly #input: Compose;
  #lines: string[][];
  #row = 0;
  #column = 0;
  #fault = '';
  #isBusy = false;

  constructor(input: Compose) {
    this.title = input.title;
    this.#input = input;
    this.#lines = input.text.split('\n').map(graphemes);
    this.#row = this.#lines.length - 1;
    this.#column = this.#line.length;
  }

  get #line(): string[] {
    return this.#lines[this.#row] ?? [];
  }

  get text(): string {
    return this.#lines.map((line) => line.join('')).join('\n');
  }

  /** Shows why the text was not sent; it can be sent again. */
  refuse(fault: string): void {
    this.#isBusy = false;
    this.#fault = fault;
  }

  draw(width: number, height: number): string[] {
    const head = this.#input.head.flatMap((line) => wrap(faint(clean(line)), width));
    const below = this.#isBusy ? ['Sending …'] : this.#fault === '' ? [] : wrap(this.#fault, width);
    // The email that is answered stays visible above it.
    const space = Math.max(3, Math.floor(height * SHARE) - head.length - below.length - 1);
    const { drawn, at } = this.#drawn(width);
    const top = Math.max(0, Math.min(at - space + 1, drawn.length - space));
    const seen = drawn.slice(top, top + space);
    // The box keeps its size while the user writes.
    const fill = Array.from({ length: Math.max(0, space - seen.length) }, () => '');
    return [...head, '', ...seen, ...fill, ...below];
  }

  /** The lines as they are broken, and which of them the cursor is on. */
  #drawn(width: number): { drawn: string[]; at: number } {
    const drawn: string[] = [];
    let at = 0;
    for (const [row, line] of this.#lines.entries()) {
      const shown = line.map((one) => (one === '\t' ? '  ' : clean(one)));
      if (row === this.#row) shown.splice(this.#column, 0, '▏');
      const broken = broke(shown, Math.max(8, width - 1));
      if (row === this.#row) at = drawn.length + broken.findIndex((part) => part.includes('▏'));
      drawn.push(...broken);
    }
    return { drawn, at };
  }

  key(key: string): boolean {
    if (this.#isBusy) return true;
    this.#fault = '';
    if (key === 'esc') {
      this.#input.leave(this.text);
      return false;
    }
    if (key === 'ctrl-s' || key === 'ctrl-d') {
      if (this.text.trim() === '') {
        this.#fault = 'The text is empty; there is nothing to send.';
        return true;
      }
      this.#isBusy = true;
      (key === 'ctrl-s' ? this.#input.send : this.#input.keep)(this.text);
      return true;
    }
    if (!this.#move(key)) this.#type(key);
    return true;
  }

  #move(key: string): boolean {
    const last = this.#lines.length - 1;
    if (key === 'up') this.#row = Math.max(0, this.#row - 1);
    else if (key === 'down') this.#row = Math.min(last, this.#row + 1);
    else if (key === 'left' && this.#column > 0) this.#column--;
    else if (key === 'left' && this.#row > 0) [this.#row, this.#column] = [this.#row - 1, Infinity];
    else if (key === 'right' && this.#column < this.#line.length) this.#column++;
    else if (key === 'right' && this.#row < last) [this.#row, this.#column] = [this.#row + 1, 0];
    else if (key === 'home' || key === 'ctrl-a') this.#column = 0;
    else if (key === 'end' || key === 'ctrl-e') this.#column = Infinity;
    else if (!['left', 'right'].includes(key)) return false;
    this.#column = Math.min(this.#column, this.#line.length);
    return true;
  }

  #type(key: string): void {
    if (key === 'enter') this.#insert('\n');
    else if (key === 'backspace') this.#erase();
    else if (key === 'delete') {
      const row = this.#row;
      const column = this.#column;
      this.#move('right');
      if (row !== this.#row || column !== this.#column) this.#erase();
    } else if (key === 'ctrl-u') this.#lines[this.#row] = this.#line.slice(this.#column);
    else if (key === 'ctrl-k') this.#lines[this.#row] = this.#line.slice(0, this.#column);
    else if (graphemes(key).length === 1) this.#insert(key);
    if (key === 'ctrl-u') this.#column = 0;
  }

  #erase(): void {
    if (this.#column > 0) this.#line.splice(--this.#column, 1);
    else if (this.#row > 0) {
      const [line = []] = this.#lines.splice(this.#row--, 1);
      this.#column = this.#line.length;
      this.#line.push(...line);
    }
  }

  #insert(text: string): void {
    const behind = this.#line.splice(this.#column);
    const [first = '', ...more] = text.split('\n');
    this.#line.push(...graphemes(first));
    if (more.length > 0) this.#lines.splice(this.#row + 1, 0, ...more.map(graphemes));
    this.#row += more.length;
    this.#column = this.#line.length;
    this.#line.push(...behind);
  }

  paste(text: string): void {
    if (!this.#isBusy) this.#insert(text.replaceAll(/\r\n?/g, '\n'));
  }
}

/** Broken after the last blank for which there is room. */
function broke(shown: readonly string[], width: number): string[] {
  const lines: string[] = [];
  let now: string[] = [];
  let used = 0;
  for (const one of shown) {
    const wide = measureWidth(one);
    if (used + wide > width) {
      const blank = now.lastIndexOf(' ');
      const next = blank > 0 ? now.splice(blank + 1) : [];
      lines.push(now.join(''));
      now = next;
      used = now.reduce((sum, part) => sum + measureWidth(part), 0);
    }
    now.push(one);
    used += wide;
  }
  return [...lines, now.join('')];
}
