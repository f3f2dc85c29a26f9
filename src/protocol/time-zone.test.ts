import { expect, it } from 'vitest';
import { findTimeZone } from './time-zone.ts';

const findMoment = (zone: string, local: string): string =>
  new Date(findTimeZone(zone)?.toMoment(Date.parse(`${local}Z`)) ?? Number.NaN).toISOString();

it.each([
  ['Europe/Berlin', '2026-07-01T09:00', '2026-07-01T07:00:00.000Z', 'summer'],
  ['Europe/Berlin', '2027-03-28T01:59', '2027-03-28T00:59:00.000Z', 'before an hour that is left out'],
  ['Europe/Berlin', '2027-03-28T02:00', '2027-03-28T01:00:00.000Z', 'the jump'],
  ['Europe/Berlin', '2027-03-28T02:30', '2027-03-28T01:00:00.000Z', 'the jump leaves it out'],
  ['Europe/Berlin', '2027-03-28T03:00', '2027-03-28T01:00:00.000Z', 'behind it'],
  ['Europe/Berlin', '2026-10-25T02:30', '2026-10-25T00:30:00.000Z', 'the first of two'],
  ['Europe/Berlin', '2026-10-25T03:00', '2026-10-25T02:00:00.000Z', 'behind both'],
  ['Australia/Lord_Howe', '2026-10-04T02:15', '2026-10-03T15:30:00.000Z', 'a jump of half an hour'],
  ['Pacific/Apia', '2011-12-30T12:00', '2011-12-30T10:00:00.000Z', 'a day that is left out'],
  ['america/new_york', '2026-12-01T09:00', '2026-12-01T14:00:00.000Z', 'letter case does not count'],
  ['Pacific/Kiritimati', '2026-12-01T09:00', '2026-11-30T19:00:00.000Z', 'the first of all'],
  ['Etc/GMT+12', '2026-12-01T09:00', '2026-12-01T21:00:00.000Z', 'the last of all'],
])('the clock of %s shows %s at %s: %s', (zone, local, moment) => expect(findMoment(zone, local)).toBe(moment));

it.each(['', 'Mars/Olympus_Mons', '+02:00', 'Europe', 'Europe/Berlin '])('%j is not a time zone', (name) =>
  expect(findTimeZone(name)).toBe(undefined),
);
