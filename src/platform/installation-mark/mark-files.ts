import {
  closeSync,
  fchmodSync,
  fchownSync,
  fsyncSync,
  openSync,
  statSync,
  writeSync,
  existsSync,
  readdirSync,
  rmSync,
  readFileSync,
} from 'node:fs';
import { randomBytes } from 'node:crypto';
import path from 'node:path';

const PREFIX = 'shared-';
/** The maximum age of a backup whose database names a witness. */
const KEPT_MS = 90 * 86_400_000;

/**
 * Writes a file with an unguessable name, by which a node recognizes the very folder that another node has written to,
 * and not a different one with the same mark.
 */
export function writeWitness(folder: string): string {
  const name = `${PREFIX}${randomBytes(16).toString('hex')}`;
  writeFile(path.join(folder, name), 'wx', { text: '', folder });
  syncFolder(folder);
  return name;
}

export const hasWitness = (folder: string, name: string): boolean => existsSync(path.join(folder, name));

/** Removes witnesses that no database in use names any more. */
export function removeOldWitnesses(folder: string, current: string, now: number): void {
  for (const name of readdirSync(folder)) {
    if (!name.startsWith(PREFIX) || name === current) continue;
    const file = path.join(folder, name);
    const writtenAt = statSync(file, { throwIfNoEntry: false })?.mtimeMs;
    if (writtenAt !== undefined && writtenAt < now - KEPT_MS) rmSync(file, { force: true });
  }
}

/** Present in a folder that `rasket backup` created, until a process has taken note of it. */
const COPY_MARK = 'copy-made-at';

/** Files that describe a copy at its creation: in a folder that a server runs on they would be outdated. */
export const COPY_FILES = {
  facts: 'backup.json',
  /** Uses the format of `sha256sum --check`. */
  checksums: 'SHA256SUMS',
  verification: 'verification.json',
} as const;

/** Returns when the copy in this folder was made, in ISO 8601; undefined if the folder is not a copy. */
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

/** Remove the mark last: until then the folder is a copy. */
export function removeCopyMark(dataDir: string): void {
  for (const file of [...Object.values(COPY_FILES), COPY_MARK]) rmSync(path.join(dataDir, file), { force: true });
}

/**
 * The instance key during a restore, until everything else is in place: a folder with this file is not an installation
 * yet.
 */
export const RESTORING_KEY = 'instance.key.restoring';

/** Writes a synced file (its folder is not synced), readable only by the owner of the folder. */
export function writeFile(file: string, flags: 'w' | 'wx', { text, folder }: { text: string; folder: string }): void {
  const handle = openSync(file, flags, 0o600);
  try {
    writeSync(handle, text);
    fchmodSync(handle, 0o600);
    // A command run as root must not leave a file that the service cannot read.
    const { uid, gid } = statSync(folder);
    if (process.getuid?.() === 0) fchownSync(handle, uid, gid);
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

export function syncFolder(folder: string): void {
  const handle = openSync(folder, 'r');
  fsyncSync(handle);
  closeSync(handle);
}
