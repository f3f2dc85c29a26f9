import { expect, it } from 'vitest';
import { boxed, shownWidth, unstyled } from './text.ts';

it.each([
  ['short', 20, '┌─ short ──────────┐'],
  ['it fits to the lt', 20 + 3, '┌─ it fits to the lt ─┐'],
  ['one that is longer than its frame', 20, '┌─ one that is l… ─┐'],
  ['日本語日本語日本語日本語', 20, '┌─ 日本語日本語… ──┐'],
])('a frame titled %s, %i columns wide', (title, width, expected) => {
  const lines = boxed(title, ['inside', 'x'.repeat(40)], width);
  expect(unstyled(lines[0] ?? '')).toBe(expected);
  expect(lines.map(shownWidth)).toEqual([width, width, width, width]);
});

it('where one is in it stands at the right, and the title gives way to it', () => {
  const [first = ''] = boxed('create: write a broadcast', ['inside'], 41, '1 of 10');
  expect(unstyled(first)).toBe('┌─ create: write a broadcast ─ 1 of 10 ─┐');
  expect(unstyled(boxed('create: write a broadcast', [], 30, '1 of 10')[0] ?? '')).toBe(
    '┌─ create: write… ─ 1 of 10 ─┐',
  );
});
