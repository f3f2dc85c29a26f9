import { expect, it } from 'vitest';
import { linesInWords, placeInList, placeInLoaded, linesSeen, withBar } from './scroll.ts';
import { unstyled } from './text.ts';

const loaded = (
  count: number,
  more: { skipped?: number | undefined; hasBefore?: boolean; hasBehind?: boolean } = {},
) => ({
  rows: Array.from({ length: count }),
  skipped: 0,
  hasBefore: false,
  hasBehind: false,
  ...more,
});

it('the position in a list shows the row, the total, and whether more follow', () => {
  expect(placeInList(loaded(0), 0)).toBe('0');
  expect(placeInList(loaded(12), 2)).toBe('3/12');
  expect(placeInList(loaded(50, { hasBehind: true }), 0)).toBe('1/50+');
  expect(placeInList(loaded(200, { skipped: 1100, hasBefore: true, hasBehind: true }), 149)).toBe('1,250/1,300+');
  expect(placeInList(loaded(50, { skipped: undefined, hasBefore: true }), 49)).toBe('… 50/50');
});

it('the position in a searched or sorted list counts the rows that are loaded', () => {
  expect(placeInLoaded(loaded(50), 2, 4)).toBe('3/4 of 50');
  expect(placeInLoaded(loaded(50), 2, 50)).toBe('3/50');
  expect(placeInLoaded(loaded(50, { hasBehind: true }), 0, 50)).toBe('1/50 loaded');
  expect(placeInLoaded(loaded(50, { hasBehind: true }), 0, 0)).toBe('0 of 50 loaded');
});

it('the position in a text shows the visible lines when not all of them fit', () => {
  expect(linesInWords(0, 20, 20)).toBe('');
  expect(linesInWords(0, 20, 140)).toBe('lines 1–20 of 140');
  expect(linesInWords(1220, 20, 1240)).toBe('lines 1,221–1,240 of 1,240');
});

const rows = Array.from({ length: 6 }, (_, at) => `row ${at}`);
const bar = (top: number, count: number): string =>
  withBar(rows, { top, seen: 6, count }, { columns: 10 })
    .map((line) => unstyled(line).slice(9))
    .join('');

it('the scroll bar shows the visible part, and touches an end only when nothing follows there', () => {
  expect(bar(0, 6)).toBe('');
  expect(bar(0, 12)).toBe('┃┃┃│││');
  expect(bar(1, 12)).toBe('│┃┃┃││');
  expect(bar(5, 12)).toBe('││┃┃┃│');
  expect(bar(6, 12)).toBe('│││┃┃┃');
  expect(bar(0, 7)).toBe('┃┃┃┃││');
  expect(bar(500, 1000)).toBe('│││┃││');
});

it('the scroll bar stands on the dividing line when another pane is open', () => {
  const lines = withBar(rows, { top: 0, seen: 6, count: 12 }, { columns: 10, hasBeside: true });
  expect(lines).toEqual(['row 0     ┃', 'row 1     ┃', 'row 2     ┃', 'row 3', 'row 4', 'row 5']);
});

it('a text scrolls no further than its last line', () => {
  const { at, shown } = linesSeen(rows, { top: 99, columns: 10, rows: 4 });
  expect([at, shown.map(unstyled)]).toEqual([2, ['row 2    │', 'row 3    │', 'row 4    ┃', 'row 5    ┃']]);
});
