import { closeSync, fchownSync, fsyncSync, openSync, readFileSync, renameSync, statSync, writeSync } from 'node:fs';
import path from 'node:path';

const LAST_BACKUP = 'last-backup';

/** When the last backup was complete; undefined where none was made, or what the file holds cannot be read. */
export function readLastBackup(dataDir: string): { at: number; folder: string } | undefined {
  try {
    const { at, folder } = JSON.parse(readFileSync(path.join(dataDir, LAST_BACKUP), 'utf8')) as Record<string, unknown>;
    const time = Date.parse(String(at));
    return Number.isNaN(time) ? undefined : { at: time, folder: String(folder) };
  } catch {
    return undefined;
  }
}

/** Only once the backup stands whole under its name. */
export function writeLastBackup(dataDir: string, last: { at: string; folder: string }): void {
  const file = path.join(dataDir, LAST_BACKUP);
  const part = `${file}.part`;
  const handle = openSync(part, 'w', 0o600);
  try {
    writeSync(handle, `${JSON.stringify(last)}\n`);
    // A command of root's must not leave a file that the service cannot read.
    const { uid, gid } = statSync(dataDir);
    if (process.getuid?.() === 0) fchownSync(handle, uid, gid);
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
  renameSync(part, file);
}
