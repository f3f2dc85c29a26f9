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
/** As old as a backup may be whose database names one of them. */
const KEPT_MS = 90 * 86_400_000;

/**
 * A file with a name that nobody can know, by which a node sees that a folder is the one another node has written to, and no other with
 * the same mark.
 */
export function writeWitness(folder: string): string {
  const name = `${PREFIX}${randomBytes(16).toString('hex')}`;
  writeFile(path.join(folder, name), 'wx', { text: '', folder });
  syncFolder(folder);
  return name;
}

export const hasWitness = (folder: string, name: string): boolean => existsSync(path.join(folder, name));

/** Those that no database in use names any more. */
export function removeOldWitnesses(folder: string, current: string, now: number): void {
  for (const name of readdirSync(folder)) {
    if (!name.startsWith(PREFIX) || name === current) continue;
    const file = path.join(folder, name);
    const writtenAt = statSync(file, { throwIfNoEntry: false })?.mtimeMs;
    if (writtenAt !== undefined && writtenAt < now - KEPT_MS) rmSync(file, { force: true });
  }
}

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

/** Durable, but for the folder that names it; for the owner of the folder alone. */
export function writeFile(file: string, flags: 'w' | 'wx', { text, folder }: { text: string; folder: string }): void {
  const handle = openSync(file, flags, 0o600);
  try {
    writeSync(handle, text);
    fchmodSync(handle, 0o600);
    // A command of root's must not leave a file that the service cannot read.
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
