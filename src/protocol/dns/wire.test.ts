import fc from 'fast-check';
import { expect, test } from 'vitest';
import { canonicalName, isWithin, nameFromBytes, nameLabels } from './wire.ts';

const anyLabels = fc.array(
  fc.uint8Array({ minLength: 1, maxLength: 30 }).map((bytes) => Buffer.from(bytes).toString('latin1')),
  { maxLength: 8 },
);

test('any labels can be read back from their text form, with a final dot or without', () => {
  fc.assert(
    fc.property(anyLabels, (labels) => {
      expect(nameLabels(nameFromBytes(labels))).toEqual(labels);
      if (labels.length > 0) expect(nameLabels(`${nameFromBytes(labels)}.`)).toEqual(labels);
    }),
  );
});

test.each([
  ['Example.COM', 'example.com'],
  ['example.com.', 'example.com'],
  ['a\\.b.example', 'a\\.b.example'],
  ['a\\046b.example', 'a\\.b.example'],
  ['a\\\\.example', 'a\\\\.example'],
  ['.', '.'],
  ['BÜ.example', 'b\\220.example'],
])('the name %s has the canonical form %s', (name, canonical) => {
  expect(canonicalName(name)).toBe(canonical);
});

test.each([
  ['example.com', 'example.com', true],
  ['mail.Example.com', 'example.COM', true],
  ['notexample.com', 'example.com', false],
  ['com', 'example.com', false],
  ['x\\.example.com', 'example.com', false],
  ['example.com', '.', true],
])('%s lies within %s: %s', (name, zone, within) => {
  expect(isWithin(name, zone)).toBe(within);
});
