import { clean, measureWidth } from '../../cli/output/index.ts';
import { inverse } from '../draw/text.ts';

const segments = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

/**
 * Only this much text around the cursor is examined: a pasted text may be as long as a letter, and is drawn with every
 * key.
 */
const NEAR = 512;

const splitGraphemes = (text: string): string[] => [...segments.segment(text)].map(({ segment }) => segment);

/** Shows a line break as the single column that it takes here. */
const toShown = (text: string): string => clean(text.replaceAll(/\r\n?|\n/g, '↵').replaceAll('\t', ' '));

/** A line editor with the keys of a shell. It shows the text around the cursor that fits. */
export class LineEdit {
  #text: string;
  #at: number;

  constructor(text = '') {
    this.#text = text;
    this.#at = text.length;
  }

  get text(): string {
    return this.#text;
  }

  set(text: string): void {
    this.#text = text;
    this.#at = text.length;
  }

  insert(text: string): void {
    this.#replace(this.#at, this.#at, text);
  }

  key(key: string): void {
    const start = this.#before();
    const end = this.#nextPosition();
    if (key === 'left') this.#at = start;
    else if (key === 'right') this.#at = end;
    else if (key === 'home' || key === 'ctrl-a') this.#at = 0;
    else if (key === 'end' || key === 'ctrl-e') this.#at = this.#text.length;
    // Many terminals send the one key for the other.
    else if (key === 'backspace' || key === 'delete') this.#replace(start, this.#at);
    else if (key === 'ctrl-u') this.#replace(0, this.#at);
    else if (key === 'ctrl-k') this.#replace(this.#at, this.#text.length);
    else if (key === 'ctrl-w') this.#replace(this.#text.slice(0, this.#at).replace(/\S+\s*$/, '').length, this.#at);
    // Names of keys have several letters; what is typed has one.
    else if (splitGraphemes(key.slice(0, NEAR)).length === 1) this.insert(key);
  }

  #replace(from: number, to: number, text = ''): void {
    this.#text = this.#text.slice(0, from) + text + this.#text.slice(to);
    this.#at = from + text.length;
  }

  #before(): number {
    const near = this.#text.slice(Math.max(0, this.#at - NEAR), this.#at);
    return this.#at - (splitGraphemes(near).at(-1)?.length ?? 0);
  }

  #nextPosition(): number {
    return this.#at + (splitGraphemes(this.#text.slice(this.#at, this.#at + NEAR))[0]?.length ?? 0);
  }

  /** Draws at most so many columns. */
  draw(width: number): string {
    const end = this.#nextPosition();
    const under = end === this.#at ? ' ' : toShown(this.#text.slice(this.#at, end));
    const room = Math.max(0, width - measureWidth(under));
    const left = toShown(this.#text.slice(Math.max(0, this.#at - 2 * NEAR), this.#at));
    const right = toShown(this.#text.slice(end, end + 2 * NEAR));
    const behind = fitStart(right, Math.max(Math.floor(room / 3), room - widthNear(left)));
    return `${fitEnd(left, room - measureWidth(behind))}${inverse(under)}${behind}`;
  }

  /** Draws the text without the cursor, from its beginning. */
  drawAway(width: number): string {
    return fitStart(toShown(this.#text.slice(0, 2 * NEAR)), width);
  }
}

const widthNear = (text: string): number => measureWidth(text.slice(-NEAR));

function fitStart(text: string, width: number): string {
  if (text.length <= NEAR && measureWidth(text) <= width) return text;
  let shown = '';
  let used = 0;
  for (const one of splitGraphemes(text.slice(0, NEAR))) {
    used += measureWidth(one);
    if (used > width - 1) break;
    shown += one;
  }
  return width > 0 ? `${shown}…` : '';
}

function fitEnd(text: string, width: number): string {
  if (text.length <= NEAR && measureWidth(text) <= width) return text;
  let shown = '';
  let used = 0;
  for (const one of splitGraphemes(text.slice(-NEAR)).toReversed()) {
    used += measureWidth(one);
    if (used > width - 1) break;
    shown = one + shown;
  }
  return width > 0 ? `…${shown}` : '';
}
