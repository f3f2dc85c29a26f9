import { mkdir, open, rm } from 'node:fs/promises';
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

export async function openScratchFile(root: string, name: string): Promise<ScratchFile> {
  await mkdir(root, { recursive: true, mode: 0o700 });
  const file = path.join(root, `.${name}${PART}`);
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
    async read(bytes) {
      const first = Buffer.allocUnsafeSlow(bytes);
      for (let at = 0; at < bytes;) {
        const { bytesRead } = await handle.read(first, at, bytes - at, at);
        if (bytesRead === 0) throw new Error(`a scratch file has ${at} bytes, and ${bytes} were asked for`);
        at += bytesRead;
      }
      return first;
    },
    close: () => handle.close(),
  };
}
