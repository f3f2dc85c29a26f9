import { measureWidth, shorten } from '../../cli/output/index.ts';

/**
 * Lines for a screen: texts with colors of our own. Text of untrusted senders was cleaned before it got here, so every
 * escape sequence in a line is ours.
 */
const SGR = '\u001B[';

const style =
  (code: number) =>
  (text: string): string =>
    text === '' ? '' : `${SGR}${code}m${text}${SGR}0m`;

/** None of these is a color, so that they hold under NO_COLOR too. */
export const bold = style(1);
export const faint = style(2);
export const inverse = style(7);

const PIECES = /\u001B\[[\d;]*m|\s+|[^\s\u001B]+/g;
const segments = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

const isStyle = (piece: string): boolean => piece.startsWith(SGR);

export const unstyled = (text: string): string => text.replaceAll(/\u001B\[[\d;]*m/g, '');

/** Draws a bar over a whole line that keeps its colors. */
export const bar = (line: string): string => inverse(line.replaceAll(`${SGR}0m`, `${SGR}0m${SGR}7m`));

/** Marks the selected one of several by more than its style. */
export const inHand = (label: string): string => inverse(bold(`[${label}]`));

export const shownWidth = (text: string): number => measureWidth(unstyled(text));

/** Returns the text on exactly so many columns: cut with an ellipsis, or padded with blanks. */
export function fit(text: string, width: number): string {
  const long = shownWidth(text);
  if (long <= width) return text + ' '.repeat(width - long);
  if (width <= 0) return '';
  let shown = '';
  let used = 0;
  for (const [piece] of text.matchAll(PIECES)) {
    if (isStyle(piece)) {
      shown += piece;
      continue;
    }
    for (const { segment } of segments.segment(piece)) {
      const wide = measureWidth(segment);
      if (used + wide > width - 1) return `${shown}…${SGR}0m${' '.repeat(width - 1 - used)}`;
      shown += segment;
      used += wide;
    }
  }
  return shown;
}

/** The same, padded on the left. */
export function fitRight(text: string, width: number): string {
  const long = shownWidth(text);
  return long <= width ? ' '.repeat(width - long) + text : fit(text, width);
}

/** Returns as many whole texts as fit, from the first one that keeps the selected one visible. */
export function wholes(texts: readonly string[], inHand: number, width: number): string {
  for (let first = 0; ; first++) {
    let upTo = first;
    let used = first > 0 ? 1 : 0;
    for (; upTo < texts.length; upTo++) {
      const wide = shownWidth(texts[upTo] ?? '');
      // The mark for omitted texts takes a column.
      if (used + wide > width - (upTo === texts.length - 1 ? 0 : 1)) break;
      used += wide;
    }
    // A text that does not fit whole is cut.
    if (upTo === first && first >= inHand) return fit(texts[first] ?? '', width);
    if (upTo > inHand || first >= inHand)
      return fit((first > 0 ? '…' : '') + texts.slice(first, upTo).join('') + (upTo < texts.length ? '…' : ''), width);
  }
}

/** Wraps a text into lines no wider than `width`; broken between words if there are any. */
export function wrap(text: string, width: number): string[] {
  return text.split('\n').flatMap((line) => wrapLine(line.replaceAll('\t', '    '), Math.max(width, 8)));
}

function wrapLine(line: string, width: number): string[] {
  if (shownWidth(line) <= width) return [line];
  const indent = ' '.repeat(Math.min(/^ */.exec(unstyled(line))?.[0].length ?? 0, Math.floor(width / 2)));
  const lines: string[] = [];
  let now = '';
  let used = 0;
  let styled = '';
  const next = (): void => {
    lines.push(styled === '' ? now.trimEnd() : `${now.trimEnd()}${SGR}0m`);
    now = indent + styled;
    used = indent.length;
  };
  for (const [piece] of line.matchAll(PIECES)) {
    if (isStyle(piece)) {
      styled = piece === `${SGR}0m` ? '' : piece;
      now += piece;
      continue;
    }
    const wide = measureWidth(piece);
    if (used > indent.length && used + wide > width) {
      next();
      if (piece.trim() === '') continue;
    }
    if (used + wide <= width) {
      now += piece;
      used += wide;
      continue;
    }
    for (const { segment } of segments.segment(piece)) {
      if (used + measureWidth(segment) > width) next();
      now += segment;
      used += measureWidth(segment);
    }
  }
  lines.push(now);
  return lines;
}

const BLOCKS = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/** Bars of these values, `height` lines high, each `width` columns wide; the largest fills the height. */
export function bars(values: readonly number[], height: number, width: number): string[] {
  const most = Math.max(1, ...values);
  return Array.from({ length: height }, (_, line) => {
    const floor = (height - 1 - line) * 8;
    return values
      .map((value) => {
        const eighths = value > 0 ? Math.max(1, Math.round((value / most) * height * 8)) : 0;
        return (BLOCKS[Math.min(8, Math.max(0, eighths - floor))] ?? ' ').repeat(width);
      })
      .join('');
  });
}

/** Draws a share as a bar that is readable without color. */
export function gauge(share: number, width: number): string {
  const full = Math.round(Math.min(1, Math.max(0, share)) * width);
  return `[${'■'.repeat(full)}${'·'.repeat(width - full)}]`;
}

/** A moment of today, by the local clock. */
export const formatClock = (moment: number): string => new Date(moment).toTimeString().slice(0, 8);

/**
 * Draws lines in a frame of this width. A title that is longer than the frame is cut; the position is shown at the
 * right.
 */
export function boxed(title: string, lines: readonly string[], width: number, where = ''): string[] {
  const right = where === '' ? '' : ` ${where} ─`;
  const shown = shorten(title, width - 6 - shownWidth(right));
  return [
    `┌─ ${bold(shown)} ${'─'.repeat(width - shownWidth(shown) - 5 - shownWidth(right))}${right}┐`,
    ...lines.map((line) => `│ ${fit(line, width - 4)} │`),
    `└${'─'.repeat(width - 2)}┘`,
  ];
}

/**
 * Joins two texts as columns, with a line between them; a left text that is a column wider contains the line already.
 */
export function joinColumns(left: readonly string[], right: readonly string[], width: number, rows: number): string[] {
  return Array.from({ length: rows }, (_, at) => {
    const line = left[at] ?? '';
    return `${shownWidth(line) === width + 1 ? line : fit(line, width) + faint('│')} ${right[at] ?? ''}`;
  });
}
