import { existsSync, mkdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { closeStore, migrateStore, openStore } from '../../src/open-store.ts';
import { audited, type AuditNote } from '../../src/tenancy/audit/index.ts';
import { ConfigFault, loadConfig, type Config, type ConfigInput } from '../../src/platform/config/index.ts';
import { lockDataFolder, schemaState } from '../../src/platform/db/index.ts';
import { MARK_FILE, RESTORING_KEY } from '../../src/platform/installation-mark/index.ts';
import { createLog } from '../../src/platform/log/index.ts';
import { isLeaving } from '../../src/tenancy/instance/index.ts';
import { Refusal } from '../../src/platform/refusal.ts';
import { InstanceKeyFault, instanceKeyPath, readInstanceKeys } from '../../src/platform/secrets/index.ts';
import type { Store } from '../../src/platform/store.ts';
import type { UpgradeWishes } from '../../src/features/installation/index.ts';
import { OperatorFault } from '../explain.ts';
import { isSingleFile, programRoot, tryOutFolder } from '../../src/program-files/index.ts';
import { becomeFolderOwner, findInstallation, findTyper, findServiceSettings } from '../installation.ts';

export interface DataOptions {
  data?: string;
  config?: string;
}

/** The file that marks a data folder of a development server. */
export const DEVELOPMENT_MARK = 'development';

/** The folder of whatever is installed or tried out here, unless another is named. */
export const dataFolder = (options: DataOptions): string => path.resolve(namedFolder(options) ?? tryOut() ?? 'data');

/** A new folder is made in the named place, never in that of the try-out. */
export const newDataFolder = (options: DataOptions): string => path.resolve(namedFolder(options) ?? 'data');

export const developmentFolder = (options: DataOptions): string =>
  path.resolve(options.data ?? process.env.RASKET_DATA ?? tryOutFolder);

/** Finds the folder of a development server; `otherwise` says what is not done to the folder of another profile. */
export function findDevelopmentData(options: DataOptions, otherwise: string): string {
  const dataDir = developmentFolder(options);
  mustBeInitialised(dataDir, options.data === undefined ? 'npm start' : `rasket dev --data ${options.data}`);
  if (!existsSync(path.join(dataDir, DEVELOPMENT_MARK))) {
    throw new OperatorFault(`${dataDir} is not a data folder of a development server; ${otherwise}`);
  }
  return dataDir;
}

const namedFolder = (options: DataOptions): string | undefined =>
  options.data ?? process.env.RASKET_DATA ?? findInstallation()?.data;

/**
 * Returns the data folder of `npm start` when the current folder is in the checkout and has no other; a single file has
 * no checkout.
 */
function tryOut(): string | undefined {
  const isHere = isSingleFile || `${process.cwd()}/`.startsWith(programRoot);
  if (!isHere || existsSync('data') || !existsSync(path.join(tryOutFolder, DEVELOPMENT_MARK))) return undefined;
  return tryOutFolder;
}

/** A command of this machine for a shell, on the folder and with the settings of this one. */
export async function onSameFolder(command: string, options: DataOptions, more = ''): Promise<string> {
  const { quoted } = await import('../../cli/client/index.ts');
  const config = options.config ?? process.env.RASKET_CONFIG;
  const words = [
    command,
    `--data ${quoted(dataFolder(options))}`,
    config && `--config ${quoted(path.resolve(config))}`,
  ];
  return [...words, more].filter(Boolean).join(' ');
}

/** Adds to a refusal about missing or existing items where they are listed. */
export async function whereListed<T>(
  list: string,
  options: DataOptions,
  work: () => Promise<T>,
  listOfTaken = list,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof Refusal) || !/not found|already/.test(error.message)) throw error;
    const isMissing = error.errorName === 'not_found';
    const says = `${error.message} List them with: ${await onSameFolder(isMissing ? list : listOfTaken, options)}`;
    throw new OperatorFault(says, isMissing ? 'notFound' : 'refused');
  }
}

export type ReadOptions = Pick<ConfigInput, 'profile' | 'isServing' | 'overrides'>;

export const readConfig = (options: DataOptions, reading: ReadOptions = {}): Config =>
  readSettings(options, reading).config;

const nameSettingsFile = ({ config }: DataOptions, ofService: string | undefined): string | undefined =>
  config ?? process.env.RASKET_CONFIG ?? ofService;

/**
 * Reads the settings as `readSettings` does, and returns their faults in place of throwing them; defaults stand for the
 * settings at fault. Throws if too little can be read.
 */
export function readFaultySettings(
  options: DataOptions,
  reading: ReadOptions,
): ReturnType<typeof readSettings> & { faults: readonly string[] } {
  try {
    return { ...readSettings(options, reading), faults: [] };
  } catch (error) {
    if (!(error instanceof ConfigFault) || error.remaining === undefined) throw error;
    const file = nameSettingsFile(options, findServiceSettings(dataFolder(options)).file);
    return { ...error.remaining, ...(file === undefined ? {} : { file }), faults: error.faults };
  }
}

/** Returns every setting with its origin, and the file that was read, if there was one. */
export function readSettings(
  options: DataOptions,
  reading: ReadOptions = {},
): ReturnType<typeof loadConfig> & { file?: string } {
  const found = findServiceSettings(dataFolder(options));
  const file = nameSettingsFile(options, found.file);
  const given = file === undefined ? {} : { file };
  const read = loadConfig({ ...given, ...reading, env: found.env });
  for (const warning of read.warnings) process.stderr.write(`rasket: warning: ${warning}\n`);
  return { ...read, ...given };
}

export function mustBeInitialised(dataDir: string, make = howToMake(dataDir)): void {
  const key = instanceKeyPath(dataDir);
  // Throws if this account may not read the folder, because nothing is known about it then.
  if (statSync(key, { throwIfNoEntry: false }) === undefined) {
    mustNotLackKey(dataDir);
    throw new OperatorFault(`${dataDir} is not a data folder of rasket; create one with: ${make}`);
  }
  try {
    readInstanceKeys(dataDir);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== undefined || error instanceof InstanceKeyFault) throw error;
    throw new OperatorFault(
      `${key} is damaged; restore it from a backup, because the encrypted values in the database cannot be read without it`,
    );
  }
}

const howToMake = (dataDir: string): string =>
  findInstallation()?.data === dataDir ? 'sudo rasket setup' : `rasket init --data ${dataDir}`;

/** A folder that was in use has files that no other program makes. */
export function mustNotLackKey(dataDir: string): void {
  if (existsSync(path.join(dataDir, RESTORING_KEY)) && !existsSync(instanceKeyPath(dataDir))) {
    throw new OperatorFault(
      `${dataDir} is an incomplete restore; complete it with: rasket restore FOLDER --data ${dataDir}`,
    );
  }
  const held = [MARK_FILE, 'blobs', 'rasket.db'].filter((name) => existsSync(path.join(dataDir, name)));
  if (held.length === 0 || existsSync(instanceKeyPath(dataDir))) return;
  throw new OperatorFault(
    `${instanceKeyPath(dataDir)} is missing, but ${dataDir} is a data folder that was in use (it contains ${held.join(', ')}); restore the key from a backup or copy it from another node, because the encrypted values in the database cannot be read without it`,
  );
}

/** A server that runs relies on the schema it found, so a pending migration waits until it is stopped. */
export async function migrateAlone(store: Store, wishes: UpgradeWishes = {}): Promise<string[]> {
  const { db, dataDir } = store;
  // On a database server, migrations exclude one another, and are made so that the previous release keeps working
  // meanwhile. A move of an SQLite file holds the lock of its folder, and must not be disturbed by a command.
  const isFree = db.dialect === 'pg' || ((await schemaState(db)).pending.length === 0 && !(await isLeaving(db)));
  if (isFree) return migrateStore(store, wishes);
  mkdirSync(path.join(dataDir, 'run'), { recursive: true, mode: 0o700 });
  const release = lockDataFolder(dataDir);
  try {
    return await migrateStore(store, wishes);
  } finally {
    release();
  }
}

export interface StoreOptions {
  mayFound?: boolean;
  /** Opens the database whatever its version: nothing is migrated, and only what every version has may be used. */
  asFound?: boolean;
  before?: (store: Store) => Promise<void>;
  /** The audit entry of the command, if it changes something. */
  audit?: CommandAudit;
}

export interface CommandAudit extends Pick<AuditNote, 'action'> {
  details?: object;
  /** The team and the object that it concerns, unless that is created just now. */
  about?: (store: Store) => Promise<{ teamId?: string; subjectId?: string }>;
  /** The command changes more than the database. */
  always?: true;
}

/** The entry of a command that is no change of one store. */
export const noteCommand = (store: Store, audit: Omit<CommandAudit, 'always'>): Promise<void> =>
  workAudited(store, async () => undefined, { ...audit, always: true });

/** The entry is written in the transaction of the change, as for a change that comes over the API. */
async function workAudited<T>(
  store: Store,
  work: (store: Store) => Promise<T>,
  { action, details, about, always }: CommandAudit,
): Promise<T> {
  const { teamId = null, subjectId = null } = (await about?.(store)) ?? {};
  const watched = audited(store, {
    action,
    team_id: teamId,
    subject_id: subjectId,
    details: details ? JSON.stringify(details) : null,
    actor_kind: 'command',
    actor_id: null,
    actor_name: findTyper(),
    address: null,
    user_agent: null,
    request_id: null,
  });
  const done = await work(watched.store);
  if (always && !watched.isWritten()) await watched.write();
  return done;
}

/** Opens a store for one command of the operator, migrates it, and closes it afterwards; it logs only errors. */
export async function withStore<T>(
  config: Config,
  dataDir: string,
  work: (store: Store) => Promise<T>,
  { mayFound = false, asFound = false, before, audit }: StoreOptions = {},
): Promise<T> {
  becomeFolderOwner(dataDir);
  mustBeInitialised(dataDir);
  const log = createLog({ level: 'error', format: 'pretty' });
  const store = await openStore({ config, dataDir, log, mayFound });
  try {
    await before?.(store);
    if (!asFound) await migrateAlone(store);
    return await (audit ? workAudited(store, work, audit) : work(store));
  } finally {
    await closeStore(store);
  }
}
