import { base64LinesLength, base64Stream } from './base64-lines.ts';

/** Content that does not stand in memory; every reading gives the same bytes. */
export interface StoredContent {
  size: number;
  /** What `surveySevenBit` says of it; asked for where the content may not be encoded. */
  isSevenBit: boolean;
  read(): AsyncIterable<Buffer>;
}

/** A part of a body that is read and encoded when the message is read. */
export interface StoredPiece {
  length: number;
  read(): AsyncIterable<Buffer>;
}

/** What bodies are put together of. */
export type Piece = Buffer | StoredPiece;

export function storedPiece(content: StoredContent, encoding: '7bit' | 'base64'): StoredPiece {
  if (encoding === '7bit') return { length: content.size, read: () => content.read() };
  return { length: base64LinesLength(content.size), read: () => base64Stream(content.read()) };
}

export const isStored = <T>(content: Buffer | T): content is T => !Buffer.isBuffer(content);
