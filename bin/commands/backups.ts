import { existsSync } from 'node:fs';
import path from 'node:path';
import { listTime, type Column, type Terminal } from '../../cli/output/index.ts';
import { systemClock } from '../../src/platform/clock.ts';
import { backupsFolder, listBackups, type KeptBackup } from '../../src/features/installation/index.ts';
import { noteBackup } from '../../src/tenancy/instance/index.ts';
import { OperatorFault } from '../explain.ts';
import { becomeFirstOtherOn, becomeFolderOwner } from '../installation.ts';
import { dataFolder, mustBeInitialised, readConfig, withStore, type DataOptions } from './open.ts';
import { printRows } from './print-rows.ts';

type Options = DataOptions & { json?: boolean; wide?: boolean };

/** Lists the backups in the folder of the settings, or in another one. */
export function printBackups(directory: string | undefined, options: Options): void {
  const where = directory === undefined ? ownBackups(options) : namedBackups(path.resolve(directory));
  const none = `There are no backups in ${where}. Make one with: rasket backup FOLDER; or daily with backup.schedule`;
  printRows(listBackups(where).map(shown), columnsFor, { ...options, none, hint: `They are in ${where}.` });
}

function ownBackups(options: Options): string {
  const dataDir = dataFolder(options);
  mustBeInitialised(dataDir);
  const where = backupsFolder({ config: readConfig(options), dataDir });
  becomeFolderOwner(dataDir);
  return where;
}

/** Works even on a machine that has only the backups so far. */
function namedBackups(where: string): string {
  if (!existsSync(where))
    throw new OperatorFault(`${where} does not exist; give the folder with the backups`, 'notFound');
  becomeFirstOtherOn(where);
  return where;
}

const shown = ({ folder, facts, verification }: KeptBackup) => ({
  folder,
  made_at: facts.made_at,
  reason: facts.reason,
  schema: facts.schema,
  files: facts.files,
  bytes: facts.bytes,
  verified_at: verification?.at ?? null,
  faults: verification?.faults ?? [],
});

type Shown = ReturnType<typeof shown>;

const columnsFor = (terminal: Terminal): Column<Shown>[] => [
  { title: 'MADE', value: ({ made_at: made }) => listTime(terminal, made), fit: 'whole' },
  { title: 'AGE', value: ({ made_at: made }) => formatAge(made), fit: 'whole' },
  { title: 'SIZE', value: ({ bytes }) => `${(bytes / 1e6).toFixed(1)} MB`, fit: 'whole' },
  { title: 'VERIFIED', value: (row) => formatVerification(terminal, row), fit: 'whole' },
  { title: 'REASON', value: ({ reason }) => reason, fit: 'whole' },
  { title: 'FOLDER', value: ({ folder }) => folder, fit: 'name' },
];

function formatVerification(terminal: Terminal, { verified_at: at, faults }: Shown): string {
  if (at === null) return 'never';
  return faults.length > 0 ? 'damaged' : listTime(terminal, at);
}

const HOUR_MS = 3_600_000;

function formatAge(madeAt: string): string {
  const hours = Math.max(0, Math.floor((systemClock.now() - Date.parse(madeAt)) / HOUR_MS));
  return hours < 48 ? `${hours} h` : `${Math.floor(hours / 24)} d`;
}

/**
 * Records that another program made a backup (pg_dump, a snapshot of the disk): findings and upgrades check its age.
 */
export async function noteMade(options: DataOptions & { at?: string }): Promise<void> {
  const at = options.at === undefined ? undefined : Date.parse(options.at);
  if (at !== undefined && (Number.isNaN(at) || at > systemClock.now()))
    throw new OperatorFault(
      `--at must be a time in the past, such as 2026-11-26T03:30:00Z; got ${options.at}`,
      'usage',
    );
  const work = async (store: Parameters<Parameters<typeof withStore>[2]>[0]): Promise<void> => {
    const madeAt = at ?? store.clock.now();
    if (!(await noteBackup(store.db, { madeAt, folder: null, at: store.clock.now() })))
      throw new OperatorFault('this database is too old to record a backup; use rasket migrate --no-backup');
    console.log(`The last backup of this installation was made at ${new Date(madeAt).toISOString()}.`);
  };
  await withStore(readConfig(options), dataFolder(options), work, { asFound: true });
}
