/**
 * The mark of an installation: a file that says whose a folder is. The data folder has one, and the folder of the blobs,
 * which nodes may share. It is no secret, and is never overwritten by another installation's.
 */
import { chmodSync, closeSync, fsyncSync, mkdirSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import path from 'node:path';

export const MARK_FILE = 'installation.id';

/** The id that a folder is marked with; undefined where it has no mark, or one that a crash left without content. */
export function readMark(folder: string): string | undefined {
  const id = readIfThere(path.join(folder, MARK_FILE))?.trim();
  return id === '' ? undefined : id;
}

/** Marks a folder that has no mark, and answers the mark it has then: another process may have been quicker. */
export function writeMark(folder: string, id: string): string | undefined {
  const file = path.join(folder, MARK_FILE);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  if (readIfThere(file)?.trim() === '') rmSync(file, { force: true });
  try {
    const handle = openSync(file, 'wx', 0o644);
    writeSync(handle, `${id}\n`);
    fsyncSync(handle);
    closeSync(handle);
    // A command of root's must not leave a file that the service cannot read; the folder keeps everybody else out.
    chmodSync(file, 0o644);
    syncFolder(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  return readMark(folder);
}

function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw error;
  }
}

function syncFolder(folder: string): void {
  const handle = openSync(folder, 'r');
  fsyncSync(handle);
  closeSync(handle);
}
