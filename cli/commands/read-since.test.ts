import { expect, test } from 'vitest';
import { readSince } from './read-since.ts';

const now = Date.parse('2026-11-20T12:00:00.000Z');

test.each([
  ['1s', '2026-11-20T11:59:59.000Z'],
  ['30m', '2026-11-20T11:30:00.000Z'],
  ['2h', '2026-11-20T10:00:00.000Z'],
  ['2 H', '2026-11-20T10:00:00.000Z'],
  ['7d', '2026-11-13T12:00:00.000Z'],
  ['2026-11-20T09:30Z', '2026-11-20T09:30:00.000Z'],
  ['2026-11-20T09:30:00.5+02:00', '2026-11-20T07:30:00.500Z'],
])('--since %s means %s', (text, instant) => {
  expect(readSince(text, now)).toBe(instant);
});

test.each(['', '2', 'h', '0h', '-2h', '1.5h', '2w', '1000000d', '2026-11-20', '2026-11-20T09:30', '2026-13-01T00:00Z'])(
  '--since %j is refused',
  (text) => {
    expect(() => readSince(text, now)).toThrow(`such as 2h, or an ISO 8601 time with its zone; got "${text}"`);
  },
);
