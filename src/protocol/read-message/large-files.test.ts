import { describe, expect, test } from 'vitest';
import { readMessage } from './index.ts';
import { withoutLargeFiles } from './large-files.ts';

const LIMITS = { depthMax: 64, headerBytesMax: 512 * 1024, partsMax: 1000 };
const LARGE = Buffer.alloc(1_500_000, 'all sorts of bytes \0\r\n\xff');
const OTHER = Buffer.alloc(1_000_001, 'others');
const lined = (bytes: Buffer, end = '\r\n'): string => bytes.toString('base64').replaceAll(/.{76}/g, `$&${end}`);
const file = (body: string, type = 'application/pdf; name=a.pdf'): string =>
  `--b\r\nContent-Type: ${type}\r\nContent-Transfer-Encoding: base64\r\n\r\n${body}\r\n`;
const message = (...parts: string[]): Buffer =>
  Buffer.from(
    `From: a@b.example\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\nthe text\r\n${parts.join('')}--b--\r\n`,
    'latin1',
  );

async function readFiles(raw: Buffer): Promise<Buffer[]> {
  const reading = await readMessage(raw, LIMITS);
  if (!reading.isRead) throw new Error(reading.because);
  expect(reading.text?.trim()).toBe('the text');
  return reading.parts.map(({ content }) => Buffer.from(content));
}

test('large files are read byte for byte next to small ones, and the parser never sees them', async () => {
  const small = Buffer.from('small');
  const raw = message(file(lined(LARGE)), file(lined(small)), file(lined(OTHER), 'image/png'));
  expect(withoutLargeFiles(raw)?.raw.length).toBeLessThan(1000);
  const files = await readFiles(raw);
  expect(files.map((one, i) => one.equals([LARGE, small, OTHER][i] ?? small))).toEqual([true, true, true]);
});

test('a large file that ends the message without a final boundary is read byte for byte', async () => {
  const whole = message(file(lined(LARGE)));
  const [read] = await readFiles(whole.subarray(0, whole.length - '\r\n--b--\r\n'.length));
  expect(read?.equals(LARGE)).toBe(true);
});

describe('a large file that programs read differently is left to the parser', () => {
  test.each([
    ['padding within it', `${lined(LARGE.subarray(0, 1_000_001))}\r\n${lined(OTHER)}`],
    ['words within it', `${lined(OTHER)}\r\n- and so on -\r\n${lined(OTHER)}`],
    ['a group that is not whole', `${lined(LARGE)}AAAAA`],
    ['line ends of another kind', lined(LARGE, '\n').replaceAll('\r', ' \t')],
  ])('because of %s', async (what, body) => {
    const raw = message(file(body));
    const isPlain = what.startsWith('line ends');
    expect(withoutLargeFiles(raw) === undefined).toBe(!isPlain);
    expect(await readFiles(raw)).toHaveLength(1);
  });

  test.each(['text/csv', 'message/rfc822'])('because of the type %s', (type) => {
    expect(withoutLargeFiles(message(file(lined(LARGE), type)))).toBeUndefined();
  });

  test('when the message contains the placeholder for files', async () => {
    const word = Buffer.from('A large file, number 0, is put here.');
    const files = await readFiles(message(file(lined(word)), file(lined(LARGE))));
    expect(files.map(({ length }) => length)).toEqual([word.length, LARGE.length]);
  });
});
