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

/** A Friday at half past nine, by the local clock. */
const FRIDAY = new Date(2026, 10, 20, 9, 30);

it.each([
  ['in 3 days', new Date(FRIDAY.getTime() + 3 * 86_400_000)],
  ['in 45 minutes', new Date(FRIDAY.getTime() + 45 * 60_000)],
  ['1 week', new Date(FRIDAY.getTime() + 7 * 86_400_000)],
  ['tomorrow', new Date(2026, 10, 21, 9)],
  ['Tomorrow at 9:15', new Date(2026, 10, 21, 9, 15)],
  ['tomorrow 14', new Date(2026, 10, 21, 14)],
  ['monday', new Date(2026, 10, 23, 9)],
  ['Mon 2pm', new Date(2026, 10, 23, 14)],
  ['friday 8:00', new Date(2026, 10, 27, 8)],
  ['17:30', new Date(2026, 10, 20, 17, 30)],
  ['9:00', new Date(2026, 10, 21, 9)],
  ['12am', new Date(2026, 10, 21, 0)],
  ['today 10:00', new Date(2026, 10, 20, 10)],
])('the local time %j is read', (text, time) => expect(readTimeAhead(text, FRIDAY.getTime())).toBe(time.toISOString()));

it.each(['today 9:00', 'yesterday', 'tomorrow 25:00', 'tomorrow 9:60', 'mo 9:00', '13pm', 'in 0 days', 'in days'])(
  'the local time %j is refused',
  (text) => expect(() => readTimeAhead(text, FRIDAY.getTime())).toThrow('tomorrow 9:00'),
);

it.each(['', '0h', 'soon', '5', '-2h', '1y', '2026-13-01'])('the time %j is refused', (text) =>
  expect(() => readTimeAhead(text, NOW)).toThrow('such as 2h or 3d'),
);
