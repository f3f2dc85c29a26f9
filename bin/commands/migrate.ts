import { readBackupNotes } from '../../src/tenancy/instance/index.ts';
import { dataFolder, migrateAlone, readConfig, withStore, type DataOptions } from './open.ts';

export async function migrateDatabase(options: DataOptions & { backup?: boolean }): Promise<void> {
  await withStore(
    readConfig(options),
    dataFolder(options),
    async (store) => {
      const before = (await readBackupNotes(store.db)).madeAt;
      const done = await migrateAlone(store, { noBackup: options.backup === false });
      const { madeAt, folder } = await readBackupNotes(store.db);
      // If another node was faster, the backup is that node's.
      if (done.length > 0 && madeAt !== before && folder !== null) console.log(`backup   ${folder}`);
      for (const name of done) console.log(`applied  ${name}`);
      console.log(done.length === 0 ? 'The database is up to date.' : 'The database is up to date now.');
    },
    // This command does the migration itself.
    { mayFound: true, asFound: true },
  );
}
