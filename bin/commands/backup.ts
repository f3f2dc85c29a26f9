import { existsSync } from 'node:fs';
import path from 'node:path';
import { systemClock } from '../../src/platform/clock.ts';
import {
  locateContent,
  explainDamaged,
  filesOfSettings,
  isVacant,
  makeBackup,
  readFacts,
  restoreBackup,
  verifyBackup,
  type BackupFacts,
  type Verification,
} from '../../src/features/installation/index.ts';
import type { Store } from '../../src/platform/store.ts';
import { noteBackup } from '../../src/tenancy/instance/index.ts';
import { isSingleFile, loadAddon } from '../../src/program-files/index.ts';
import { SEALED_COLUMNS } from '../../src/sealed-columns.ts';
import { BackupNotWhole, OperatorFault } from '../explain.ts';
import { becomeFirstOtherOn, becomeFolderOwner } from '../installation.ts';
import { dataFolder, mustBeInitialised, readConfig, withStore, type DataOptions } from './open.ts';

/** While the server runs, and of whatever version its database is. */
export async function backup(target: string, options: DataOptions): Promise<void> {
  const config = readConfig(options);
  const dataDir = dataFolder(options);
  mustBeInitialised(dataDir);
  const programs = config.backup.pg_programs;
  const folder = path.resolve(target);
  if (!isVacant(folder)) throw new OperatorFault(`${folder} contains files; choose a new or an empty folder`);
  const work = async (store: Store): Promise<void> => {
    const madeAt = store.clock.now();
    const named = filesOfSettings(config, dataDir);
    const source = { ...store, contentIn: locateContent(store), programs, named };
    const facts = await makeBackup(source, { folder, madeAt, reason: 'command' });
    const found = await verifyBackup(folder, { sealed: SEALED_COLUMNS, programs, now: store.clock.now });
    if (found.faults.length > 0) throw new BackupNotWhole(folder, found.faults);
    warnOfDamaged(found);
    await noted(store, { madeAt, folder });
    const content = facts.content_in
      ? ''
      : ` and ${facts.content} ${facts.content === 1 ? 'file' : 'files'} of content`;
    console.log(`${folder} contains the database, the keys${content}, and was verified.`);
    printLacks(facts);
  };
  await withStore(config, dataDir, work, { asFound: true });
  const how = config.database.driver === 'pg' ? 'restored from it (rasket restore)' : 'started on it';
  console.log(`A server that is ${how} sends nothing until you confirm it with: rasket sending on`);
}

/** Warns of contents that were damaged before the backup; they do not prevent it. */
function warnOfDamaged(found: Verification): void {
  for (const says of explainDamaged(found)) console.error(says);
}

const noted = ({ db, clock }: Store, { madeAt, folder }: { madeAt: number; folder: string | null }): Promise<boolean> =>
  noteBackup(db, { madeAt, folder, at: clock.now() });

const withoutContent = (place: string): string =>
  `Content stays in ${place} and was not checked: let the bucket keep old versions for as long as you keep backups.`;

function printLacks({ content_in: place, not_held: lacks = [] }: BackupFacts): void {
  if (place) console.log(withoutContent(place));
  if (lacks.length > 0)
    console.log(`Not included: ${lacks.join(', ')}, and the settings file. Back these up yourself.`);
}

/** Once this process is another account, that may have no folder from which it is loaded. */
function loadAddonFirst(): void {
  if (!isSingleFile) return;
  try {
    loadAddon();
  } catch {
    // A dump is read without it, and who opens an SQLite file says why it is not there.
  }
}

/** Reads the whole backup; the exit code says whether it is complete. */
export async function verify(target: string, options: DataOptions & { json?: boolean }): Promise<void> {
  const folder = path.resolve(target);
  if (!existsSync(folder))
    throw new OperatorFault(`${folder} does not exist; list the backups with: rasket backups`, 'notFound');
  const { pg_programs: programs } = readConfig(options).backup;
  loadAddonFirst();
  becomeFirstOtherOn(folder);
  const found = await verifyBackup(folder, { sealed: SEALED_COLUMNS, programs, now: systemClock.now });
  const { at } = found;
  const faults = [...found.faults, ...explainDamaged(found)];
  if (options.json) console.log(JSON.stringify({ folder, verified_at: at, faults }));
  if (faults.length > 0) throw new BackupNotWhole(folder, faults);
  if (options.json) return;
  console.log(
    `${folder} is undamaged: all files are unchanged, the database is intact, and its key decrypts all secrets.`,
  );
  const facts = readFacts(folder);
  if (facts) printLacks(facts);
}

/** Into an empty data folder, and of a dump into an empty database. */
export async function restore(source: string, options: DataOptions): Promise<void> {
  const folder = path.resolve(source);
  if (!existsSync(folder))
    throw new OperatorFault(`${folder} does not exist; list the backups with: rasket backups list FOLDER`, 'notFound');
  const config = readConfig(options);
  const dataDir = dataFolder(options);
  loadAddonFirst();
  becomeFolderOwner(dataDir);
  const { pg_programs: programs } = config.backup;
  const found = await verifyBackup(folder, { sealed: SEALED_COLUMNS, programs, now: systemClock.now });
  if (found.faults.length > 0) throw new BackupNotWhole(folder, found.faults);
  warnOfDamaged(found);
  const facts = await restoreBackup({ folder, dataDir, config });
  const database = facts.dump ? ', and the database in the settings contains its rows' : '';
  console.log(`${dataDir} contains the installation as of ${facts.made_at}${database}.`);
  printLacks(facts);
  console.log('Start the server; it sends nothing until you confirm it with: rasket sending on');
}
