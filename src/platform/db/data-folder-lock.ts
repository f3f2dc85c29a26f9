import Sqlite from 'better-sqlite3';
import path from 'node:path';

export class DataFolderInUse extends Error {}

/**
 * Holds the data folder for this process. The lock is SQLite's own file lock, held by an open transaction, so the
 * system gives it back when the process dies, however it dies. Answers the function that gives it back.
 */
export function holdDataFolder(dataDir: string): () => void {
  const lock = new Sqlite(path.join(dataDir, 'run', 'lock.db'), { timeout: 0 });
  try {
    lock.exec('begin exclusive');
  } catch (error) {
    lock.close();
    if ((error as { code?: string }).code !== 'SQLITE_BUSY') throw error;
    throw new DataFolderInUse(
      `another rasket process is using ${dataDir}; stop it first, or name another folder with --data`,
    );
  }
  return () => lock.close();
}
