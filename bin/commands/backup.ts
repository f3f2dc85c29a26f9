import { existsSync } from 'node:fs';
import path from 'node:path';
import { systemClock } from '../../src/platform/clock/index.ts';
import { contentInOf, isVacant, makeBackup, readFacts, verifyBackup } from '../../src/resources/backups/index.ts';
import type { Store } from '../../src/platform/store/index.ts';
import { noteBackup } from '../../src/resources/instance/index.ts';
import { SEALED_COLUMNS } from '../../src/sealed-columns.ts';
import { BackupNotWhole, OperatorFault } from '../explain.ts';
import { becomeOwnerOf } from '../installation.ts';
import { dataFolder, mustBeInitialised, readConfig, withStore, type DataOptions } from './open.ts';

/** While the server runs, and of whatever version its database is. */
export async function backup(target: string, options: DataOptions): Promise<void> {
  const config = readConfig(options);
  const dataDir = dataFolder(options);
  mustBeInitialised(dataDir);
  if (config.database.driver === 'pg') {
    throw new OperatorFault(
      `a PostgreSQL database is backed up there: run pg_dump first, and copy ${dataDir}/instance.key, ${dataDir}/installation.id and ${dataDir}/blobs after it`,
    );
  }
  const folder = path.resolve(target);
  if (!isVacant(folder)) throw new OperatorFault(`${folder} has files in it; name a new or an empty folder`);
  const work = async (store: Store): Promise<void> => {
    const madeAt = store.clock.now();
    const facts = await makeBackup({ ...store, contentIn: contentInOf(store) }, { folder, madeAt, reason: 'command' });
    const { faults } = await verifyBackup(folder, { sealed: SEALED_COLUMNS, now: store.clock.now });
    if (faults.length > 0) throw new BackupNotWhole(folder, faults);
    await noted(store, { madeAt, folder });
    const content = facts.content_in ? '' : ` and ${facts.content} files of content`;
    console.log(`${folder} holds the database, the keys${content}, and was read again.`);
    if (facts.content_in) console.log(withoutContent(facts.content_in));
  };
  await withStore(config, dataDir, work, { asFound: true });
  console.log('A server that is started on it sends nothing until you confirm it with: rasket sending on');
}

const noted = ({ db, clock }: Store, { madeAt, folder }: { madeAt: number; folder: string | null }): Promise<boolean> =>
  noteBackup(db, { madeAt, folder, at: clock.now() });

const withoutContent = (place: string): string =>
  `Content stays in ${place}, and was not looked at: let the bucket keep former versions for as long as you keep backups.`;

/** Reads all of it; the exit code says whether it is whole. */
export async function verify(target: string, options: DataOptions & { json?: boolean }): Promise<void> {
  const folder = path.resolve(target);
  if (!existsSync(folder))
    throw new OperatorFault(`${folder} is not there; see which there are with: rasket backups`, 'notFound');
  becomeOwnerOf(folder);
  const { at, faults } = await verifyBackup(folder, { sealed: SEALED_COLUMNS, now: systemClock.now });
  if (options.json) console.log(JSON.stringify({ folder, verified_at: at, faults }));
  if (faults.length > 0) throw new BackupNotWhole(folder, faults);
  if (options.json) return;
  console.log(
    `${folder} is whole: its files are as they were written, the database is sound, and its key opens all secrets.`,
  );
  const place = readFacts(folder)?.content_in;
  if (place) console.log(withoutContent(place));
}
