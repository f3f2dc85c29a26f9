import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { BodyHasher, bodyHash } from './index.ts';

const sha256 = (text: string): string => createHash('sha256').update(text, 'latin1').digest('base64');

/** Applies RFC 6376 §3.4.4 literally, slow and simple. */
const relaxed = (body: string): string => {
  const reduced = body
    .replace(/[ \t]+(?=\r\n|$(?![\s\S]))/g, '')
    .replace(/[ \t]+/g, ' ')
    .replace(/(?:\r\n)+$(?![\s\S])/, '');
  return reduced === '' ? '' : `${reduced}\r\n`;
};

test.each([
  ['', '', 'an empty body is the empty string, not one CRLF'],
  ['\r\n', '', 'only a line end'],
  ['\r\n\r\n\r\n', '', 'only line ends'],
  [' \t\r\n  \r\n', '', 'only white space'],
  ['   ', '', 'only white space without a line end'],
  ['a', 'a\r\n', 'a missing last line end is added'],
  ['a\r\n', 'a\r\n', 'nothing to do'],
  ['a\r\n\r\n\r\n', 'a\r\n', 'blank lines at the end'],
  ['a\r\n \r\n\t\r\n', 'a\r\n', 'lines of white space at the end'],
  ['a\r\n\r\n  ', 'a\r\n', 'white space behind the last line end'],
  ['a\r\n\r\nb', 'a\r\n\r\nb\r\n', 'a blank line inside and a partial last line'],
  ['\r\na', '\r\na\r\n', 'a blank line at the start is kept'],
  ['a \t b\t\r\n  c', 'a b\r\n c\r\n', 'runs, tabs, indentation'],
  ['a\tb', 'a b\r\n', 'one tab is one space'],
  ['a \r', 'a \r\r\n', 'a lone CR ends no line'],
  ['a \n\n', 'a \n\n\r\n', 'a lone LF ends no line'],
  [' C \r\nD \t E\r\n\r\n\r\n', ' C\r\nD E\r\n', 'the example of RFC 6376 §3.4.5'],
  ['a\r\r\n\r\n', 'a\r\r\n', 'a CR before the line end'],
  [
    `${'x'.repeat(500)} \r\n${'y'.repeat(500)}\t${'z'.repeat(500)}  \r\n`,
    `${'x'.repeat(500)}\r\n${'y'.repeat(500)} ${'z'.repeat(500)}\r\n`,
    'white space far apart',
  ],
])('%j is hashed as %j: %s', (body, canonical) => {
  expect(relaxed(body)).toBe(canonical);
  expect(bodyHash(Buffer.from(body, 'latin1'))).toBe(sha256(canonical));
});

test('any body is hashed as the RFC describes it', () => {
  const part = fc.constantFrom(' ', '\t', '\r\n', '\r', '\n', 'a', 'bc', '\xa0', 'x'.repeat(70), '\r\n\r\n', '  ');
  fc.assert(
    fc.property(fc.array(part, { maxLength: 40 }), (parts) => {
      const body = parts.join('');
      expect(bodyHash(Buffer.from(body, 'latin1'))).toBe(sha256(relaxed(body)));
    }),
    { numRuns: 5 * (fc.readConfigureGlobal()?.numRuns ?? 100) },
  );
});

test('hashing does not change the body', () => {
  const body = Buffer.from('a  b \r\n\r\n');
  bodyHash(body);
  expect(body.toString()).toBe('a  b \r\n\r\n');
});

test('white space of any kind does not slow hashing down', () => {
  for (const byte of ['\t', ' ', '  ', '\t ']) {
    const body = `${'x'.repeat(100)}${byte}`.repeat(80_000);
    const canonical = `${'x'.repeat(100)} `.repeat(80_000).slice(0, -1);
    expect(bodyHash(Buffer.from(body))).toBe(sha256(`${canonical}\r\n`));
  }
});

const hashOfPieces = (body: Buffer, cuts: readonly number[]): string => {
  const hasher = new BodyHasher();
  const edges = [0, ...cuts.map((cut) => Math.min(cut, body.length)).sort((a, b) => a - b), body.length];
  edges.slice(1).forEach((edge, index) => hasher.update(body.subarray(edges[index], edge)));
  return hasher.digest();
};

test('a body that arrives in pieces is hashed like the whole, wherever it is cut', () => {
  const part = fc.constantFrom(' ', '\t', '\r\n', '\r', '\n', 'a', 'bc', '\xa0', 'x'.repeat(70), '\r\n\r\n', '  ');
  fc.assert(
    fc.property(fc.array(part, { maxLength: 30 }), fc.array(fc.nat(200), { maxLength: 12 }), (parts, cuts) => {
      const body = Buffer.from(parts.join(''), 'latin1');
      expect(hashOfPieces(body, cuts)).toBe(bodyHash(body));
      // Every single boundary, and all of them at once.
      expect(hashOfPieces(body, [...body.keys()])).toBe(bodyHash(body));
      for (const cut of body.keys()) expect(hashOfPieces(body, [cut])).toBe(bodyHash(body));
    }),
    { numRuns: 5 * (fc.readConfigureGlobal()?.numRuns ?? 100) },
  );
});

test('a megabyte of trailing line ends is kept as a count', () => {
  const body = Buffer.from(`a${'\r\n'.repeat(1_000_000)}b`);
  expect(hashOfPieces(body, [3, 4, 99_999, 1_000_000])).toBe(bodyHash(body));
  expect(hashOfPieces(body.subarray(0, -1), [3, 4, 99_999])).toBe(sha256('a\r\n'));
});
