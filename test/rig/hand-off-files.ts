import { globSync, readdirSync } from 'node:fs';
import path from 'node:path';

const OWNER = /^hand-off-(.+)\.owner$/;

export interface HandOffFiles {
  /** The note that says whose the slots are. */
  note: string;
  /** The path on the first tmpfs that had space; undefined if there was none. */
  slots: string | undefined;
}

/** Finds the files of every hand-off log of a data folder, whose slots are in it if that is a tmpfs. */
export function findHandOffFiles(dataDir: string): HandOffFiles[] {
  const runDir = path.join(dataDir, 'run');
  return readdirSync(runDir).flatMap((name) => {
    const owner = OWNER.exec(name)?.[1];
    if (owner === undefined) return [];
    const patterns = [dataDir, '/dev/shm'].map((folder) => `${folder}/rasket-hand-off-*/hand-off-${owner}.slots`);
    return [{ note: path.join(runDir, name), slots: globSync(patterns)[0] }];
  });
}
