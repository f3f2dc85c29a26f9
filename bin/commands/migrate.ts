import { closeStore, openStore } from '../../src/open-store.ts';
import { createLog } from '../../src/platform/log/index.ts';
import { becomeOwnerOf } from '../installation.ts';
import { dataFolder, migrateAlone, mustBeInitialised, readConfig, type DataOptions } from './open.ts';

export async function migrateDatabase(options: DataOptions): Promise<void> {
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
    const done = await migrateAlone(store);
    for (const name of done) console.log(`applied  ${name}`);
    console.log(done.length === 0 ? 'The database is up to date.' : 'The database is up to date now.');
  } finally {
    await closeStore(store);
  }
}
