import { expect, it } from 'vitest';
import { readTimeAhead } from './syntaxes.ts';

const NOW = Date.parse('2026-11-20T09:30:00.000Z');

it.each([
  ['30m', '2026-11-20T10:00:00.000Z'],
  ['2h', '2026-11-20T11:30:00.000Z'],
  ['3d', '2026-11-23T09:30:00.000Z'],
  ['1w', '2026-11-27T09:30:00.000Z'],
  ['2026-12-01T08:00:00+01:00', '2026-12-01T07:00:00.000Z'],
])('the time %s is read', (text, time) => expect(readTimeAhead(text, NOW)).toBe(time));

it.each(['', '0h', 'soon', '5', '-2h', '1y', '2026-13-01'])('the time %j is refused', (text) =>
  expect(() => readTimeAhead(text, NOW)).toThrow('such as 2h or 3d'),
);
