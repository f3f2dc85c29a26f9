import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isSamePlain, plainRecord, recordDataOf, textOfStrings, recordValue, type PlainRecord } from './record.ts';

const through = (record: PlainRecord): PlainRecord =>
  plainRecord({ name: record.name, class: 1, ttl: 0, data: recordDataOf(record) });

test('any text survives as the strings of a record, and as they stand in a zone file', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', maxLength: 400 }), (given) => {
      // Half a surrogate pair has no bytes.
      const value = given.toWellFormed().replaceAll('\ufffd', '?');
      const record = { name: 'a.example', type: 'TXT', value, priority: null };
      expect(through(record)).toEqual(record);
      expect(textOfStrings(recordValue(recordDataOf(record)))).toBe(value);
    }),
    { numRuns: 60 },
  );
});

test.each<PlainRecord>([
  { name: 'a.example', type: 'MX', value: 'mx.example', priority: 7 },
  { name: 'a.example', type: 'CNAME', value: 'b.example', priority: null },
  { name: 'a.example', type: 'CAA', value: '0 issue "letsencrypt.org"', priority: null },
])('$type comes back as it was', (record) => {
  expect(through(record)).toEqual(record);
});

test.each([
  ['bare text', 'bare text'],
  ['"one"', 'one'],
  ['"one" "two"', 'onetwo'],
  ['"a \\"b\\" \\\\ c"', 'a "b" \\ c'],
  ['"\\195\\188"', 'ü'],
  ['"ü"', 'ü'],
  ['"open', ''],
  ['', ''],
])('%s says %s', (content, text) => {
  expect(textOfStrings(content)).toBe(text);
});

test('a name that is none is nobody’s', () => {
  const record = { name: 'a..b', type: 'MX', value: 'x', priority: 1 };
  expect(isSamePlain(record, { ...record, name: 'a.b' })).toBe(false);
});

test.each(['"', '\\', 'x'])('a string that does not end is none, however long and whatever it ends with: %s', (end) => {
  expect(textOfStrings(`"a" "b" "${'\\"'.repeat(200_000)}${end}`)).toMatch(end === '"' ? /^ab"+$/ : /^ab$/);
});
