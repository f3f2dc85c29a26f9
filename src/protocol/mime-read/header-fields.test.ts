import fc from 'fast-check';
import { expect, it } from 'vitest';
import { fileName, transferDecoder } from './index.ts';

const name = (disposition: string, type = ''): string | null =>
  fileName(disposition, type, (text) => text.replace('=?utf-8?Q?=C3=A4?=', 'ä'));

it.each([
  ['attachment; filename=a.txt', '', 'a.txt'],
  ['attachment; filename="a \\"b\\".txt"', '', 'a "b".txt'],
  ["attachment; filename*=UTF-8''%e2%82%ac%20rates.txt; filename=other", '', '€ rates.txt'],
  ["attachment; filename*0*=iso-8859-1''%e4; filename*1=.txt", '', 'ä.txt'],
  ['attachment; filename*0=long; filename*1=-name.txt', '', 'long-name.txt'],
  ['attachment; filename="=?utf-8?Q?=C3=A4?="', '', 'ä'],
  ['inline', 'image/png; name=dot.png', 'dot.png'],
  ['attachment', 'image/png', null],
  ['attachment; filename="a\r\n b"', '', 'a b'],
  ["attachment; filename*=utf-8''invoice%E2%80%AEfdp.exe", '', 'invoice fdp.exe'],
])('the file name in %j, %j is %j', (disposition, type, expected) => {
  expect(name(disposition, type)).toBe(expected);
});

it('a file name is truncated to 255 bytes', () => {
  expect(Buffer.byteLength(name(`attachment; filename*=utf-8''${'%e2%82%ac'.repeat(100)}`) ?? '')).toBe(255);
});

it('an encoded body that is cut anywhere is decoded', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), fc.array(fc.nat(500), { maxLength: 6 }), (bytes, cuts) => {
      const text = Buffer.from(bytes)
        .toString('base64')
        .replace(/.{1,76}/g, '$&\r\n');
      expect(decoded('base64', Buffer.from(text), cuts)).toEqual(Buffer.from(bytes));
      const plain = [...bytes].map((byte) => `=${byte.toString(16).toUpperCase().padStart(2, '0')}`).join('');
      const quoted = plain.replace(/.{1,72}/g, '$&=\r\n');
      expect(decoded('quoted-printable', Buffer.from(quoted), cuts)).toEqual(Buffer.from(bytes));
    }),
  );
});

function decoded(encoding: string, bytes: Buffer, cuts: readonly number[]): Buffer {
  const decoder = transferDecoder(encoding);
  const out: Buffer[] = [];
  let at = 0;
  for (const end of [...cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b), bytes.length]) {
    out.push(decoder.update(bytes.subarray(at, end)));
    at = end;
  }
  return Buffer.concat([...out, decoder.end()]);
}
