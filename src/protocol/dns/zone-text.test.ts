import fc from 'fast-check';
import { expect, test } from 'vitest';
import { byteStrings, recordValue, zoneEntry } from './record.ts';

test('a long text is split into strings of 255 bytes, and nothing is lost', () => {
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

test('quotes, backslashes and what cannot be printed are escaped', () => {
  expect(recordValue({ type: 'TXT', strings: ['a "b" \\ ;c\n', 'ü'] })).toBe('"a \\"b\\" \\\\ ;c\\010" "\\252"');
});

test('a text of several strings has a line for each', () => {
  const at = { name: 's1._domainkey.example.com', class: 1, ttl: 300 };
  expect(zoneEntry({ ...at, data: { type: 'TXT', strings: ['v=DKIM1; p=', 'MII"'] } })).toBe(
    's1._domainkey.example.com. 300 IN TXT (\n  "v=DKIM1; p="\n  "MII\\"" )',
  );
});

test('each entry names everything it needs', () => {
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
});
