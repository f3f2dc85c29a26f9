import { expect, it } from 'vitest';
import { bars, bold, fit, gauge, shownWidth, unstyled, wholes, wrap, boxed } from './text.ts';

it.each([
  ['short', 8, 'short   '],
  ['just fits', 9, 'just fits'],
  ['too long for it', 8, 'too lon…'],
  ['日本語日本語', 6, '日本… '],
])('%s fitted to %i columns', (text, width, expected) => {
  expect(unstyled(fit(text, width))).toBe(expected);
  expect(unstyled(fit(bold(text), width))).toBe(expected);
  expect(shownWidth(fit(text, width))).toBe(width);
});

it('a text wraps between words, and keeps its indent and its style', () => {
  expect(wrap('  one two three four', 11)).toEqual(['  one two', '  three', '  four']);
  expect(wrap('x'.repeat(20), 8)).toEqual(['x'.repeat(8), 'x'.repeat(8), 'x'.repeat(4)]);
  const styled = wrap(bold('one two three four'), 9);
  expect(styled.map(unstyled)).toEqual(['one two', 'three', 'four']);
  expect(styled.every((line) => line.startsWith('\u001B[1m') && line.endsWith('\u001B[0m'))).toBe(true);
});

it('a bar chart scales to its largest value, and shows every value above zero', () => {
  expect(bars([0, 1, 50, 100], 2, 1)).toEqual(['   █', ' ▁██']);
  expect(bars([0, 0], 1, 2)).toEqual(['    ']);
});

it('a gauge is readable without colors', () => {
  expect([gauge(0, 4), gauge(0.5, 4), gauge(7, 4)]).toEqual(['[····]', '[■■··]', '[■■■■]']);
});

it.each([
  [0, 30, ' one  two  three  four '],
  [0, 16, ' one  two …'],
  [2, 16, '… two  three …'],
  [3, 16, '… three  four '],
  [3, 4, ' fo…'],
])(
  'a strip of four tabs that has tab %i selected shows only whole tabs around it on %i columns',
  (at, width, expected) => {
    const drawn = wholes([' one ', ' two ', ' three ', ' four '], at, width);
    expect(unstyled(drawn).trimEnd()).toBe(expected.trimEnd());
    expect(shownWidth(drawn)).toBe(width);
  },
);

it.each([
  ['short', 20, '┌─ short ──────────┐'],
  ['it fits to the lt', 20 + 3, '┌─ it fits to the lt ─┐'],
  ['one that is longer than its frame', 20, '┌─ one that is l… ─┐'],
  ['日本語日本語日本語日本語', 20, '┌─ 日本語日本語… ──┐'],
])('a frame with the title %s is %i columns wide', (title, width, expected) => {
  const lines = boxed(title, ['inside', 'x'.repeat(40)], width);
  expect(unstyled(lines[0] ?? '')).toBe(expected);
  expect(lines.map(shownWidth)).toEqual([width, width, width, width]);
});

it('the position in a text is shown at the right of the frame, and shortens its title', () => {
  const [first = ''] = boxed('create: write a broadcast', ['inside'], 41, '1 of 10');
  expect(unstyled(first)).toBe('┌─ create: write a broadcast ─ 1 of 10 ─┐');
  expect(unstyled(boxed('create: write a broadcast', [], 30, '1 of 10')[0] ?? '')).toBe(
    '┌─ create: write… ─ 1 of 10 ─┐',
  );
});
