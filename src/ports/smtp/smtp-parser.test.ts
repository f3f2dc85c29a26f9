import fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import { SMTPStream } from 'smtp-server/lib/smtp-stream.js';
import { nextTurn } from '../../platform/clock.ts';
import { SmtpParser, parameterFault } from './smtp-parser.ts';

interface Heard {
  contents: string[];
  commands: string[];
}

/** Feeds a parser that is reading content, and returns each content and the commands after it. */
async function hear(parser: SMTPStream, pieces: readonly Buffer[]): Promise<Heard> {
  const heard: Heard = { contents: [], commands: [] };
  const readContent = (): void => {
    const stream = parser.startDataMode();
    const content: Buffer[] = [];
    stream.on('data', (piece: Buffer) => content.push(piece));
    stream.on('end', () => {
      heard.contents.push(Buffer.concat(content).toString('latin1'));
      parser.continue();
    });
  };
  parser.oncommand = (command, callback) => {
    heard.commands.push(command.toString('latin1'));
    if (command.toString() === 'DATA') readContent();
    // The library's own handlers do the same with pipelined commands.
    setImmediate(() => callback?.());
  };
  readContent();
  for (const piece of pieces) await new Promise<void>((done) => void parser.write(piece, () => done()));
  for (let n = 0; n < 5; n++) await nextTurn();
  return heard;
}

function cut(bytes: Buffer, sizes: readonly number[]): Buffer[] {
  const pieces: Buffer[] = [];
  for (let at = 0, n = 0; at < bytes.length; n++) {
    const end = at + (sizes[n % sizes.length] ?? 1);
    pieces.push(Buffer.from(bytes.subarray(at, end)));
    at = end;
  }
  return pieces;
}

const WORD = fc.constantFrom(
  '.',
  '.',
  '..',
  '\r\n',
  '\r\n',
  '\r',
  '\n',
  'a',
  '\r\n.\r\n',
  '\r\n..',
  'DATA\r\n',
  'NOOP\r\n',
);
const SIZES = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 8 });

test('the parser reads the same content and commands as the library, however the bytes are split', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(WORD, { maxLength: 30 }), SIZES, async (words, sizes) => {
      const bytes = Buffer.from(`${words.join('')}\r\n.\r\nQUIT\r\n`);
      const theirs = await hear(new SMTPStream(), cut(bytes, sizes));
      expect(await hear(new SmtpParser(), cut(bytes, sizes))).toEqual(theirs);
      expect(await hear(new SmtpParser(), [bytes])).toEqual(await hear(new SMTPStream(), [bytes]));
    }),
    { numRuns: 500 },
  );
});

test('a chunk of stuffed dots becomes one piece of content, in the same turn of the event loop', () => {
  const parser = new SmtpParser();
  const content = parser.startDataMode();
  const pieces: number[] = [];
  content.on('data', (piece: Buffer) => pieces.push(piece.length));
  let isTaken = false;
  parser._write(Buffer.from('..\r\n'.repeat(1000)), 'buffer', () => (isTaken = true));
  expect([isTaken, content.byteLength, parser.writableNeedDrain]).toEqual([true, 2997, false]);
  content.read();
  expect(pieces).toEqual([2997]);
});

test('the parser takes no more input while the reader of the content has no room', async () => {
  const parser = new SmtpParser();
  const content = parser.startDataMode();
  const chunk = Buffer.from('..\r\n'.repeat(16_384));
  let taken = 0;
  for (let n = 0; n < 20; n++) parser.write(chunk, () => void taken++);
  await nextTurn();
  expect(taken).toBeLessThan(5);
  expect(content.readableLength + content.writableLength).toBeLessThan(5 * chunk.length);
  content.resume();
  await vi.waitUntil(() => taken === 20);
  expect(content.byteLength).toBe(20 * 16_384 * 3 - 3);
});

const OTHERS = 'contains characters other than printable ASCII';

test.each([
  'MAIL FROM:<a@example.net>',
  'mail from: <a@example.net> SIZE=10 BODY=8BITMIME SMTPUTF8',
  'MAIL FROM:<> ENVID=a+2Bb+3D!~ RET=FULL',
  'MAIL FROM:<a@example.net> ENVID=',
  'MAIL FROM:<a@example.net> ENVID',
  'MAIL FROM:<a@example.net> AUTH=<>',
  'RCPT TO:<a+ZZ@example.net> ORCPT=rfc822;a+2BZZ@example.net',
  'RCPT TO:<"a ORCPT=+ZZ"@example.net> NOTIFY=NEVER',
  'RCPT TO:<a@example.net> ORCPT=x@y.example',
  'RCPT TO:<a@example.net> ORCPT=utf-8;j\\x{F6}rg@example.net',
  'MAIL FROM:<a@example.net> X+Y=+ZZ',
  'MAIL',
])('the parameters of %s are accepted', (command) => {
  expect(parameterFault(command)).toBeUndefined();
});

test.each([
  ['MAIL FROM:<a@example.net> ENVID=a+ZZ', 'ENVID is not valid xtext; '],
  ['MAIL FROM:<a@example.net> envid=a+2b', 'ENVID is not valid xtext; '],
  ['MAIL FROM:<a@example.net> ENVID=a+2', 'ENVID is not valid xtext; '],
  ['MAIL FROM:<a@example.net> ENVID=a=b', 'ENVID is not valid xtext; '],
  ['MAIL FROM:<a@example.net> ENVID=jörg', 'ENVID is not valid xtext; '],
  ['RCPT TO:<"a b"@example.net> NOTIFY=NEVER ORCPT=rfc822;a+', 'ORCPT is not valid xtext; '],
  ['MAIL FROM:<a@example.net> ENVID=a+0D+0Ab', `ENVID ${OTHERS}`],
  ['MAIL FROM:<a@example.net> ENVID=a\u0001b', `ENVID ${OTHERS}`],
  ['RCPT TO:<a@example.net> ORCPT=rfc822;a+7Fb', `ORCPT ${OTHERS}`],
  ['RCPT TO:<a@example.net> ORCPT=a+0D;b', `ORCPT ${OTHERS}`],
  ['MAIL FROM:<a@example.net> SIZE=1+0A', `SIZE ${OTHERS}`],
])('the command %j is refused: %s', (command, says) => {
  expect(parameterFault(command)).toContain(says);
});
