import { expect, it } from 'vitest';
import { howToType, isNameTyped, nameToType } from './clean.ts';

it.each([
  ['Billing', 'Billing', true],
  [' Billing ', 'Billing', true],
  ['billing', 'Billing', false],
  ['?illing', 'Billing', false],
  ['', 'Billing', false],
  ['a?b', 'a\u0007b', true],
  ['a\uFFFDb', 'a\u202Eb', true],
  ['?', '\u200B', true],
  ['', '\u200B', false],
  ['ab', 'a\u0007b', false],
  ['a??b', 'a\u0007b', false],
  ['👩‍👩‍👧?', '👩‍👩‍👧\u001B', true],
])('typing %j for the name %j matches: %s', (typed, name, isIt) =>
  expect(isNameTyped(typed, nameToType(name))).toBe(isIt),
);

it('the hint names the substitute for untypable characters, and is empty for an ordinary name', () => {
  expect(howToType(nameToType('Billing'))).toBe('');
  expect(howToType(nameToType('a\u202Eb'))).toBe(' (? for \uFFFD)');
});
