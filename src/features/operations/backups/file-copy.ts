import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import type { Config } from '../../../platform/config/index.ts';
import { openSnapshot, writeSnapshot, type Db } from '../../../platform/db/index.ts';
import type { DatabaseCopy } from './database-copy.ts';

/** SQLite: the file as it stands at one moment. */
export function fileCopy({ config, db }: { config: Pick<Config, 'database'>; db: Db }): DatabaseCopy {
  const name = databaseName(config);
  return {
    name,
    async write(part) {
      await mkdir(path.dirname(path.join(part, name)), { recursive: true, mode: 0o700 });
      await writeSnapshot(db, path.join(part, name));
    },
    mustHaveContent: () => Promise.resolve(),
    async describe(part) {
      const snapshot = openSnapshot(path.join(part, name));
      const described = { schema: snapshot.lastMigration() ?? null, rows: snapshot.rowCounts() };
      snapshot.close();
      return described;
    },
  };
}

/** Where the restored folder looks for it with the same settings; a file elsewhere is put into the folder. */
function databaseName({ database }: Pick<Config, 'database'>): string {
  const isInside = !path.isAbsolute(database.path) && !path.normalize(database.path).startsWith('..');
  return isInside ? database.path : path.basename(database.path);
}
