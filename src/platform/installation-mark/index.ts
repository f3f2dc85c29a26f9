/**
 * The mark of an installation: a file with the id of the installation that a folder belongs to. The data folder has
 * one, and so has the folder of the blobs, which nodes may share. The mark of a copy is kept next to it. Only the owner
 * can read a mark, and it is never overwritten with another installation's.
 */
export {
  COPY_FILES,
  readCopyMark,
  removeCopyMark,
  RESTORING_KEY,
  writeCopyMark,
  hasWitness,
  removeOldWitnesses,
  writeWitness,
} from './mark-files.ts';
import { mkdirSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs';
import path from 'node:path';
import { syncFolder, writeFile } from './mark-files.ts';

export const MARK_FILE = 'installation.id';

/** Returns the id that a folder is marked with; undefined if it has no mark, or an empty one left by a crash. */
export function readMark(folder: string): string | undefined {
  const id = readIfThere(path.join(folder, MARK_FILE))?.trim();
  return id === '' ? undefined : id;
}

/**
 * Marks a folder unless it has a mark, and returns the mark that is there afterwards: another process may have been
 * quicker. A mark that others could read is made private.
 */
export function writeMark(folder: string, id: string): string | undefined {
  const file = path.join(folder, MARK_FILE);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  if (readIfThere(file)?.trim() === '') rmSync(file, { force: true });
  try {
    writeFile(file, 'wx', { text: `${id}\n`, folder });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    closeToOthers(file, folder);
  }
  syncFolder(folder);
  return readMark(folder);
}

/**
 * Rewrites the file, because root may own it. Only as the folder's owner: otherwise the service could not read the
 * file.
 */
function closeToOthers(file: string, folder: string): void {
  const id = readMark(folder);
  const isOwn = statSync(folder).uid === process.getuid?.();
  if (id === undefined || !isOwn || (statSync(file).mode & 0o077) === 0) return;
  const part = `${file}.${process.pid}.part`;
  try {
    writeFile(part, 'w', { text: `${id}\n`, folder });
    renameSync(part, file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EROFS') return;
    rmSync(part, { force: true });
    throw error;
  }
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
