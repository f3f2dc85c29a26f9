import { closeSync, fsyncSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import path from 'node:path';

/** Stands in a folder that `rasket backup` made, until a process has taken note of it. */
const COPY_MARK = 'copy-made-at';

/** What describes a copy as it was made: of a folder that a server runs on it would say what is not so any more. */
export const COPY_FILES = {
  facts: 'backup.json',
  /** As `sha256sum --check` reads it. */
  checksums: 'SHA256SUMS',
  verification: 'verification.json',
} as const;

/** When the copy was made that this folder is, in ISO 8601; undefined where it is none. */
export function readCopyMark(dataDir: string): string | undefined {
  try {
    return readFileSync(path.join(dataDir, COPY_MARK), 'utf8').trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    return undefined;
  }
}

export function writeCopyMark(dataDir: string, madeAt: string): void {
  const handle = openSync(path.join(dataDir, COPY_MARK), 'w', 0o600);
  try {
    writeSync(handle, `${madeAt}\n`);
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

/** The mark goes last: until then it is a copy. */
export function removeCopyMark(dataDir: string): void {
  for (const file of [...Object.values(COPY_FILES), COPY_MARK]) rmSync(path.join(dataDir, file), { force: true });
}

/** The instance key until a restore has everything else in its place: what it stands in is no installation yet. */
export const RESTORING_KEY = 'instance.key.restoring';
