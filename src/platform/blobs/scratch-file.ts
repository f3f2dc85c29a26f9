import { randomUUID } from 'node:crypto';
import { mkdir, open, rm, type FileHandle } from 'node:fs/promises';
import path from 'node:path';
import { PART } from './copy-blobs.ts';

/** A file without a name, which the system removes with the process, however that ends. */
export interface ScratchFile {
  /** Valid in every thread of the process, until `close`. */
  readonly fd: number;
  /** Appends; each write is awaited before the next. */
  write(piece: Uint8Array): Promise<void>;
  /** The first bytes, of as many as were written. */
  read(bytes: number): Promise<Buffer>;
  close(): Promise<void>;
}

export async function openScratchFile(root: string): Promise<ScratchFile> {
  await mkdir(root, { recursive: true, mode: 0o700 });
  const file = path.join(root, `.scratch-${randomUUID()}${PART}`);
  const handle = await open(file, 'wx+', 0o600);
  await rm(file, { force: true });
  let size = 0;
  return {
    fd: handle.fd,
    async write(piece) {
      for (let at = 0; at < piece.length;) {
        const { bytesWritten } = await handle.write(piece, at, piece.length - at, size);
        at += bytesWritten;
        size += bytesWritten;
      }
    },
    read: (bytes) => readRange(handle, 0, bytes),
    close: () => handle.close(),
  };
}

/** Throws where the file has less. */
export async function readRange(handle: FileHandle, start: number, end: number): Promise<Buffer> {
  const range = Buffer.allocUnsafeSlow(Math.max(0, end - start));
  for (let at = 0; at < range.length;) {
    const { bytesRead } = await handle.read(range, at, range.length - at, start + at);
    if (bytesRead === 0) throw new Error(`a scratch file has ${start + at} bytes, and ${end} were asked for`);
    at += bytesRead;
  }
  return range;
}
