import { shorten } from '../../cli/output/index.ts';
import { bold, faint, fit, shownWidth } from './text.ts';

/** Lines in a frame of this width. Its title gives way where it is longer than the frame; where one is in it stands at the right. */
export function boxed(title: string, lines: readonly string[], width: number, where = ''): string[] {
  const right = where === '' ? '' : ` ${where} ─`;
  const shown = shorten(title, width - 6 - shownWidth(right));
  return [
    `┌─ ${bold(shown)} ${'─'.repeat(width - shownWidth(shown) - 5 - shownWidth(right))}${right}┐`,
    ...lines.map((line) => `│ ${fit(line, width - 4)} │`),
    `└${'─'.repeat(width - 2)}┘`,
  ];
}

/** Two texts beside each other, with a line between them; one that is a column wider has drawn it itself. */
export function columnsBeside(
  left: readonly string[],
  right: readonly string[],
  width: number,
  rows: number,
): string[] {
  return Array.from({ length: rows }, (_, at) => {
    const line = left[at] ?? '';
    return `${shownWidth(line) === width + 1 ? line : fit(line, width) + faint('│')} ${right[at] ?? ''}`;
  });
}
