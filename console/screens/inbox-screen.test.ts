import { expect, it } from 'vitest';
import { snoozeChoices } from './inbox-screen.ts';

it.each([
  ['a Sunday', 22, 23],
  ['a Monday', 23, 30],
  ['a Saturday', 28, 30],
])('on %s the choice “next Monday” and all others lie in the future', (_, day, monday) => {
  const now = new Date(2026, 10, day, 10, 15);
  const choices = snoozeChoices(now);
  expect(choices.find(({ label }) => label.includes('Monday'))?.until).toEqual(new Date(2026, 10, monday, 9));
  expect(choices.filter(({ until }) => until <= now)).toEqual([]);
});
