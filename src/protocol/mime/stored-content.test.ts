import fc from 'fast-check';
import { expect, test } from 'vitest';
import { base64Lines, base64LinesLength, base64Stream } from './base64-lines.ts';
import { composeMessage, layOutMessage, surveySevenBit } from './index.ts';
import type { Attachment, Piece, StoredContent } from './index.ts';
import { input } from './sample-message.ts';

async function* cutPieces(content: Buffer, cuts: readonly number[]): AsyncGenerator<Buffer> {
  const edges = [0, ...cuts.map((cut) => Math.min(cut, content.length)).sort((a, b) => a - b), content.length];
  for (let index = 1; index < edges.length; index += 1) yield content.subarray(edges[index - 1], edges[index]);
}

async function whole(content: AsyncIterable<Buffer>): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of content) pieces.push(piece);
  return Buffer.concat(pieces);
}

const anyCuts = fc.array(fc.nat(400), { maxLength: 12 });

test('the base64 of content that arrives in pieces equals that of the whole, wherever it is cut', async () => {
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ maxLength: 350 }), anyCuts, async (bytes, cuts) => {
      const content = Buffer.from(bytes);
      const expected = base64Lines(content);
      expect(base64LinesLength(content.length)).toBe(expected.length);
      expect((await whole(base64Stream(cutPieces(content, cuts)))).equals(expected)).toBe(true);
      expect((await whole(base64Stream(cutPieces(content, [...content.keys()])))).equals(expected)).toBe(true);
    }),
  );
});

/** Applies the wording of the RFCs directly, slow and simple. */
const maySevenBit = (text: string): boolean => {
  const lines = text.split('\r\n');
  return lines.every((line) => /^[\t\x20-\x7e]{0,998}$/.test(line) && !line.startsWith('From '));
};

const sevenBitPart = fc.constantFrom(
  '\r\n',
  '\r\n',
  'From',
  ' ',
  'From me',
  'a',
  '\t',
  '\r',
  '\n',
  'é',
  '\x7f',
  'x'.repeat(499),
);

test('content in pieces may be sent unencoded when the whole may', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(sevenBitPart, { maxLength: 6 }), anyCuts, async (parts, cuts) => {
      const text = parts.join('');
      expect(await surveySevenBit(cutPieces(Buffer.from(text), cuts))).toBe(maySevenBit(text));
    }),
    { numRuns: 5 * (fc.readConfigureGlobal()?.numRuns ?? 100) },
  );
});

async function stored(content: Buffer, cuts: readonly number[]): Promise<StoredContent> {
  const read = (): AsyncIterable<Buffer> => cutPieces(content, cuts);
  return { size: content.length, isSevenBit: await surveySevenBit(read()), read };
}

const sumLengths = (pieces: readonly Piece[]): number => pieces.reduce((sum, piece) => sum + piece.length, 0);
async function joinPieces(pieces: readonly Piece[]): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for (const piece of pieces) chunks.push(Buffer.isBuffer(piece) ? piece : await whole(piece.read()));
  return Buffer.concat(chunks);
}

test('a message has the same bytes on each reading whether its attachments are stored or in memory', async () => {
  const contentType = fc.constantFrom(
    'application/pdf',
    'message/rfc822',
    'multipart/mixed; boundary="x"',
    'text/plain',
  );
  const content = fc.array(fc.oneof(sevenBitPart, fc.constant('Subject: x\r\n\r\nHello\r\n')), { maxLength: 6 });
  const file = fc.record({ content, contentType, contentId: fc.constantFrom(undefined, 'logo@example.com') });
  const files = fc.array(file, { minLength: 1, maxLength: 3 });
  const body = fc.constantFrom({}, { text: 'Text.' }, { html: '<p>Å</p>' }, { text: 'Text.', html: '<p>Html</p>' });
  await fc.assert(
    fc.asyncProperty(files, body, anyCuts, async (given, texts, cuts) => {
      const attachments = given.map((each, n): Attachment & { content: Buffer } => ({
        ...each,
        filename: `${n}.bin`,
        content: Buffer.from(each.content.join('')),
      }));
      const kept = composeMessage(input({ ...texts, attachments }));
      const elsewhere = await Promise.all(
        attachments.map(async (each) => ({ ...each, content: await stored(each.content, cuts) })),
      );
      const layout = layOutMessage(input({ ...texts, attachments: elsewhere }));
      expect(layout.headers).toEqual(kept.headers);
      expect(sumLengths(layout.pieces)).toBe(kept.body.length);
      for (const _ of ['first', 'second']) expect((await joinPieces(layout.pieces)).equals(kept.body)).toBe(true);
    }),
  );
});
