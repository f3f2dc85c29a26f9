import { expect, it } from 'vitest';
import { toEmailKey } from './users.ts';

it.each([
  ['Ada@Example.COM', 'ada@example.com'],
  ['stra\u00dfe@example.com', 'strasse@example.com'],
  ['\u0131da@example.com', 'ida@example.com'],
  ['\uff41da@example.com', 'ada@example.com'],
  ['e\u0301@example.com', '\u00e9@example.com'],
  ['ada@b\u00fccher.example', 'ada@xn--bcher-kva.example'],
])('%s and %s belong to one person', (one, other) => expect(toEmailKey(one)).toBe(toEmailKey(other)));

it('different addresses belong to different people', () => {
  expect(toEmailKey('ada+1@example.com')).not.toBe(toEmailKey('ada@example.com'));
});
