import type { Blobs, ScratchFile } from '../../platform/blobs/index.ts';
import { readSync } from 'node:fs';

/** A message byte for byte, as the client sent it, without dot-stuffing. */
export interface MessageContent {
  readonly bytes: number;
  /** Counted up to `LINES_MAX`. */
  readonly lines: number;
  /** True if it is too large for memory and is in a file. */
  readonly isFile: boolean;
  /** The form in which it is passed to a thread, which reads a large message from its file itself. */
  readonly source: ContentSource;
  /** Returns its first bytes. */
  head(bytes: number): Promise<Buffer>;
  /** Returns all of it in memory; a large one is read from its file each time. */
  whole(): Promise<Buffer>;
}

export type ContentSource = Uint8Array | { fd: number; bytes: number };

/** More lines than any message has that is read quickly; further ones are not counted. */
export const LINES_MAX = 100_000;
const LF = 10;
/** Pieces of a socket are written together, up to this size. */
const WRITE_BYTES = 256 * 1024;

/** Returns the content of a message that is in memory already. */
export function heldContent(raw: Buffer): MessageContent {
  return {
    bytes: raw.length,
    lines: linesIn(raw, 0),
    isFile: false,
    source: raw,
    head: async (bytes) => raw.subarray(0, bytes),
    whole: async () => raw,
  };
}

/** Gathers a message piece by piece, in memory or in a file. */
export interface ContentGatherer {
  /** Once a piece has gone `to` a file, all do; the pieces in memory are written first. */
  add(piece: Buffer, to: 'memory' | 'file'): Promise<void>;
  finish(): Promise<MessageContent>;
  /** Frees file and memory, also those of a finished message; calling it again changes nothing. */
  discard(): Promise<void>;
}

export function gatherContent(blobs: Blobs): ContentGatherer {
  let pieces: Buffer[] = [];
  let piecesBytes = 0;
  let size = 0;
  let lines = 0;
  let file: ScratchFile | undefined;

  async function flush(into: ScratchFile): Promise<void> {
    const piece = Buffer.concat(pieces, piecesBytes);
    [pieces, piecesBytes] = [[], 0];
    await into.write(piece);
  }

  async function discard(): Promise<void> {
    const closing = file;
    [pieces, piecesBytes, file] = [[], 0, undefined];
    await closing?.close();
  }

  return {
    async add(piece, to) {
      lines = linesIn(piece, lines);
      size += piece.length;
      pieces.push(piece);
      piecesBytes += piece.length;
      if (to === 'file') file ??= await blobs.scratch();
      if (file && piecesBytes >= WRITE_BYTES) await flush(file);
    },
    async finish() {
      if (!file) return heldContent(Buffer.concat(pieces, piecesBytes));
      await flush(file);
      return { ...toContent(file, size), lines };
    },
    discard,
  };
}

function toContent(file: ScratchFile, bytes: number): Omit<MessageContent, 'lines'> {
  return {
    bytes,
    isFile: true,
    source: { fd: file.fd, bytes },
    head: (count) => file.read(Math.min(count, bytes)),
    whole: () => file.read(bytes),
  };
}

function linesIn(piece: Buffer, before: number): number {
  let lines = before;
  for (let at = piece.indexOf(LF); at >= 0 && lines <= LINES_MAX; at = piece.indexOf(LF, at + 1)) lines++;
  return lines;
}

const LARGE_BYTES = 1024 * 1024;

/** Frees the memory at once, because an idle thread runs no garbage collection. */
export function freeMemory({ buffer }: Uint8Array): void {
  if (buffer instanceof ArrayBuffer) buffer.transfer(0);
}

/**
 * Frees content that is always written to a file; content that may be stored in a row may still be on its way to a
 * database.
 */
export function freeLargeMemory(bytes: Uint8Array): void {
  if (bytes.length > LARGE_BYTES) freeMemory(bytes);
}

/** Collects other garbage of a large message; the collector can be called if `bin/rasket` started the program. */
export function collectAfter(bytes: number): void {
  if (bytes > LARGE_BYTES) globalThis.gc?.();
}

/** Returns the content in this thread's own memory. */
export function readRaw(source: ContentSource): Uint8Array<ArrayBufferLike> {
  if (source instanceof Uint8Array) return source;
  const raw = new Uint8Array(source.bytes);
  for (let at = 0; at < raw.length;) {
    const read = readSync(source.fd, raw, at, raw.length - at, at);
    if (read === 0) throw new Error(`the file of a message ends after ${at} of ${raw.length} bytes`);
    at += read;
  }
  return raw;
}
