import { rmSync } from 'node:fs';
import path from 'node:path';
import { openDb, type Db, type OpenDbOptions } from '../../src/platform/db/index.ts';
import { makeDatabase } from '../rig/database.ts';
import { scratchFolder } from '../rig/scratch.ts';

export interface ScratchDb {
  db: Db;
  options: OpenDbOptions;
  folder: string;
  close(): Promise<void>;
}

/** An empty database of this test's own, on the driver the project runs with. */
export async function openScratchDb(): Promise<ScratchDb> {
  const folder = scratchFolder('rasket-db-');
  const database = await makeDatabase();
  const options: OpenDbOptions = { ...database.settings, file: path.join(folder, 'test.db'), poolMax: 5 };
  const db = await openDb(options);
  return {
    db,
    options,
    folder,
    async close() {
      await db.close();
      await database.drop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
