import Sqlite from 'better-sqlite3';
import path from 'node:path';
import { offerFolder } from '../../program-files/index.ts';
import { isLocked } from './faults.ts';

export class DataFolderInUse extends Error {
  override readonly name = 'DataFolderInUse';
}

/**
 * Holds the data folder for this process. The lock is SQLite's own file lock, held by an open transaction, so the
 * system gives it back when the process dies, however it dies. Answers the function that gives it back.
 */
export function lockDataFolder(dataDir: string): () => void {
  offerFolder(path.join(dataDir, 'run'));
  const letGo = holdFile(path.join(dataDir, 'run', 'lock.db'));
  if (letGo) return letGo;
  throw new DataFolderInUse(
    `another rasket process is using ${dataDir}; stop it first, or name another folder with --data`,
  );
}

/** Referenced until they are let go: a lock that is collected as garbage is closed, and another process could take the file. */
const held = new Set<Sqlite.Database>();

/** The same for any file of ours, which is created where it does not exist; undefined where another process holds it. */
export function holdFile(file: string): (() => void) | undefined {
  const lock = new Sqlite(file, { timeout: 0 });
  try {
    lock.exec('begin exclusive');
  } catch (error) {
    lock.close();
    if (!isLocked(error)) throw error;
    return undefined;
  }
  held.add(lock);
  return () => {
    held.delete(lock);
    lock.close();
  };
}
