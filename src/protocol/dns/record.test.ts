import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  isSamePlain,
  plainRecord,
  toRecordData,
  textOfStrings,
  recordValue,
  type PlainRecord,
  byteStrings,
  zoneEntry,
} from './record.ts';

const through = (record: PlainRecord): PlainRecord =>
  plainRecord({ name: record.name, class: 1, ttl: 0, data: toRecordData(record) });

test('any text can be read back from the strings of a record and from a zone file', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', maxLength: 400 }), (given) => {
      // A lone surrogate has no bytes.
      const value = given.toWellFormed().replaceAll('\ufffd', '?');
      const record = { name: 'a.example', type: 'TXT', value, priority: null };
      expect(through(record)).toEqual(record);
      expect(textOfStrings(recordValue(toRecordData(record)))).toBe(value);
    }),
    { numRuns: 60 },
  );
});

test.each<PlainRecord>([
  { name: 'a.example', type: 'MX', value: 'mx.example', priority: 7 },
  { name: 'a.example', type: 'CNAME', value: 'b.example', priority: null },
  { name: 'a.example', type: 'CAA', value: '0 issue "letsencrypt.org"', priority: null },
])('a record of the type $type is read back unchanged', (record) => {
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
])('the record content %s is read as %s', (content, text) => {
  expect(textOfStrings(content)).toBe(text);
});

test('a record with an invalid name equals no other record', () => {
  const record = { name: 'a..b', type: 'MX', value: 'x', priority: 1 };
  expect(isSamePlain(record, { ...record, name: 'a.b' })).toBe(false);
});

test.each(['"', '\\', 'x'])(
  'an unfinished string is not read, however long it is and whatever it ends with: %s',
  (end) => {
    expect(textOfStrings(`"a" "b" "${'\\"'.repeat(200_000)}${end}`)).toMatch(end === '"' ? /^ab"+$/ : /^ab$/);
  },
);

test('a long text is split into strings of 255 bytes without loss', () => {
  fc.assert(
    fc.property(fc.string({ maxLength: 700, unit: 'binary' }), (text) => {
      const strings = byteStrings(text);
      expect(strings.every((one) => one.length <= 255)).toBe(true);
      expect(strings.slice(0, -1).every((one) => one.length === 255)).toBe(true);
      expect(Buffer.from(strings.join(''), 'latin1').toString('utf8')).toBe(Buffer.from(text).toString('utf8'));
    }),
    { numRuns: 30 },
  );
});

test('quotes, backslashes and unprintable bytes are escaped', () => {
  expect(recordValue({ type: 'TXT', strings: ['a "b" \\ ;c\n', 'ü'] })).toBe('"a \\"b\\" \\\\ ;c\\010" "\\252"');
});

test('a text of several strings has one line for each in a zone entry', () => {
  const at = { name: 's1._domainkey.example.com', class: 1, ttl: 300 };
  expect(zoneEntry({ ...at, data: { type: 'TXT', strings: ['v=DKIM1; p=', 'MII"'] } })).toBe(
    's1._domainkey.example.com. 300 IN TXT (\n  "v=DKIM1; p="\n  "MII\\"" )',
  );
});

test('each zone entry contains everything it needs', () => {
  const at = { name: '_dmarc.example.com', class: 1, ttl: 300 };
  expect(zoneEntry({ ...at, data: { type: 'TXT', strings: ['v=DMARC1; p=none'] } })).toBe(
    '_dmarc.example.com. 300 IN TXT "v=DMARC1; p=none"',
  );
  expect(zoneEntry({ ...at, data: { type: 'MX', priority: 10, exchange: '.' } })).toBe(
    '_dmarc.example.com. 300 IN MX 10 .',
  );
  expect(zoneEntry({ ...at, data: { type: 'opaque', number: 65_280, bytes: Buffer.from([1, 255]) } })).toBe(
    '_dmarc.example.com. 300 IN TYPE65280 \\# 2 01ff',
  );
  const tlsa = { type: 'TLSA' as const, usage: 3, selector: 1, matching: 1, association: Buffer.from([0, 255]) };
  expect(zoneEntry({ ...at, data: tlsa })).toBe('_dmarc.example.com. 300 IN TLSA 3 1 1 00ff');
});
