import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, rmSync, statSync } from 'node:fs';
import path from 'node:path';
import { syncFolder, writeFile } from './mark-file.ts';

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
