import { closeStore, openStore } from '../../src/open-store.ts';
import { createLog } from '../../src/platform/log/index.ts';
import { readBackupNotes } from '../../src/resources/instance/index.ts';
import { becomeOwnerOf } from '../installation.ts';
import { dataFolder, migrateAlone, mustBeInitialised, readConfig, type DataOptions } from './open.ts';

export async function migrateDatabase(options: DataOptions & { backup?: boolean }): Promise<void> {
  const config = readConfig(options);
  const dataDir = dataFolder(options);
  becomeOwnerOf(dataDir);
  mustBeInitialised(dataDir);
  const store = await openStore({
    config,
    dataDir,
    log: createLog({ level: 'error', format: 'pretty' }),
    mayFound: true,
  });
  try {
    const before = (await readBackupNotes(store.db)).madeAt;
    const done = await migrateAlone(store, { noBackup: options.backup === false });
    const { madeAt, folder } = await readBackupNotes(store.db);
    if (madeAt !== before && folder !== null) console.log(`backup   ${folder}`);
    for (const name of done) console.log(`applied  ${name}`);
    console.log(done.length === 0 ? 'The database is up to date.' : 'The database is up to date now.');
  } finally {
    await closeStore(store);
  }
}
