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
])('%j is typed for %j: %s', (typed, name, isIt) => expect(isNameTyped(typed, nameToType(name))).toBe(isIt));

it('says what is typed for what no keyboard has, where there is any of it', () => {
  expect(howToType(nameToType('Billing'))).toBe('');
  expect(howToType(nameToType('a\u202Eb'))).toBe(' (? for \uFFFD)');
});
