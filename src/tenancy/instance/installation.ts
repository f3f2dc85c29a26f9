import path from 'node:path';
import type { Config } from '../../platform/config/index.ts';
import { formatHost, parsePostgresUrl } from '../../protocol/postgres-url.ts';
import {
  hasTable,
  putBack,
  rescuedCopy,
  schemaState,
  serverFacts,
  type Executor,
  type Db,
} from '../../platform/db/index.ts';
import {
  MARK_FILE,
  readMark,
  writeMark,
  hasWitness,
  removeOldWitnesses,
  writeWitness,
} from '../../platform/installation-mark/index.ts';
import { ObjectStoreFault } from '../../platform/object-store/index.ts';
import { instanceKeyPath, keyIdIn, type SealedColumn } from '../../platform/secrets/index.ts';
import type { Store } from '../../platform/store.ts';
import { listTeams } from '../teams/index.ts';
import {
  addSetting,
  readSetting,
  sealedSamples,
  writeSetting,
  removeSetting,
  replaceSetting,
  replaceSealed,
  sealedByOthers,
} from './instance.store.ts';
import os from 'node:os';
import { isoTime } from '../../platform/clock.ts';
import { loadNodeId } from '../../platform/process-mark/index.ts';

/**
 * Thrown if database, data folder, blobs and key do not belong to one installation, whose id is sealed in the database
 * and in plain text in both folders, or in the bucket of the blobs. With a database of another installation, or an
 * empty one, every blob would look as if no row named it.
 */
export class InstallationMismatch extends Error {
  override readonly name: string = 'InstallationMismatch';
}

/** A file in the folder of blobs, and the node that wrote it. */
interface Witness {
  name: string;
  node: string;
  host: string;
  at: number;
}

const WITNESS_SETTING = 'blobs_witness';

type Place = Pick<Store, 'config' | 'blobs'> & { db: Executor };

/**
 * Checks that nodes which keep blobs as files share one folder; otherwise content that one of them has stored is lost
 * for the others. Each node that starts writes a file of its own into it and records the file's name in the database,
 * and every other one has to find that file: another folder with the same path does not have it.
 */
async function mustFindWitness({ db, config, blobs }: Place): Promise<void> {
  if (db.dialect !== 'pg' || config.blobs.store !== 'files' || !(await hasTable(db, 'instance_settings'))) return;
  const last = await readSetting<Witness>(db, WITNESS_SETTING);
  if (last && !hasWitness(blobs.place, last.name)) throw notShared(blobs.place, last);
}

/** Writes the file of a node, once at its start and before it stores anything. */
export async function leaveWitness(store: Pick<Store, 'config' | 'blobs' | 'db' | 'dataDir' | 'clock'>): Promise<void> {
  const { db, config, blobs, clock, dataDir } = store;
  if (db.dialect !== 'pg' || config.blobs.store !== 'files') return;
  const node = loadNodeId(dataDir);
  const host = os.hostname();
  let name: string | undefined;
  for (;;) {
    await mustFindWitness(store);
    const last = await readSetting<Witness>(db, WITNESS_SETTING);
    if (last?.node === node && last.host === host) return;
    // Written before its name is recorded: a crash in between leaves a file that nobody looks for.
    name ??= writeWitness(blobs.place);
    const at = clock.now();
    const own = { name, node, host, at } satisfies Witness;
    const isSaid = last
      ? await replaceSetting(db, WITNESS_SETTING, { from: last, to: own, at })
      : await addSetting(db, WITNESS_SETTING, own, at);
    if (!isSaid) continue;
    removeOldWitnesses(blobs.place, name, at);
    return;
  }
}

/** Forgets the file after all blobs were moved to another place. */
const forgetWitness = (db: Executor): Promise<void> => removeSetting(db, WITNESS_SETTING);

const notShared = (place: string, { name, host, at }: Witness): InstallationMismatch =>
  new InstallationMismatch(
    `${place} is not the folder in which the other nodes of this installation store blobs (blobs.store is "files"): the file ${name} is missing, which the node on ${host} wrote into its folder (${isoTime(at)}). ` +
      `Mount that folder here, or move the blobs to a store that all nodes can reach: rasket blobs move --to s3. If the folder was lost, or this is the right one, create the file to continue with the content of this folder: touch ${path.join(place, name)}. Nothing was changed`,
  );

const SETTING = 'installation';
const PURPOSE = 'installation id';
const SAMPLES = 20;

type InstallationPlaces = Pick<Store, 'config' | 'dataDir' | 'blobs'>;
type Opened = InstallationPlaces & Pick<Store, 'secrets'> & { db: Executor };

interface BelongingOptions {
  /**
   * The columns in which this version keeps sealed texts: they show whether the key fits a database that has no id yet.
   */
  sealed: () => Promise<readonly SealedColumn[]>;
  /** True if an installation may be created if there is none: by `init`, `migrate` and the development profile. */
  mayFound: boolean;
}

/** Refuses to go on without a database if mail is stored already, or if no installation was ever made. */
export async function mustHaveDatabase(place: InstallationPlaces, mayFound: boolean): Promise<void> {
  const { dataDir, blobs } = place;
  const empty = `${databaseName(place.config, dataDir)} is empty`;
  const id = readMark(dataDir) ?? (await blobs.readMark());
  const isFile = place.config.database.driver !== 'pg';
  if (id !== undefined || !(await blobs.isEmpty())) {
    throw new InstallationMismatch(
      `${empty}, but ${dataDir} ${id === undefined ? 'contains mail content' : `belongs to installation ${id}`}: ${isFile ? lostFile(place.config, dataDir) : ''}${LOST_SETTINGS}`,
    );
  }
  if (!mayFound) throw new InstallationMismatch(`${empty}; create an installation with: rasket init --data ${dataDir}`);
}

/**
 * Called before anything is written. Returns the id of the installation, or undefined if the database has none yet;
 * throws if the parts do not belong together.
 */
export async function mustBelongTogether(store: Opened, options: BelongingOptions): Promise<string | undefined> {
  if ((await schemaState(store.db)).done.length === 0) {
    await mustHaveDatabase(store, options.mayFound);
    return undefined;
  }
  const id = await readId(store);
  if (id === undefined) await mustBeAdoptable(store, options.sealed);
  else await mustBearMarks(store, id, { mayBeAway: true });
  await mustFindWitness(store);
  return id;
}

/** Thrown for a database into which nothing may be written, whatever it contains. */
class UnfitDatabase extends Error {
  override readonly name = 'UnfitDatabase';
}

/**
 * Throws if a database to be filled has another encoding than UTF-8: it would refuse the first mail with a letter
 * outside that encoding.
 */
export async function mustTakeAnyText(store: InstallationPlaces & { db: Executor }): Promise<void> {
  if (store.db.dialect !== 'pg') return;
  const { encoding } = await serverFacts(store.db);
  if (encoding === 'UTF8') return;
  throw new UnfitDatabase(
    `${databaseName(store.config, store.dataDir)} has the encoding ${encoding}, which cannot store every email; create one with: createdb --encoding UTF8 --template template0. Nothing was changed`,
  );
}

/**
 * Seals the id into a migrated database that has none and marks the folders. Safe to call in any number of processes.
 */
export async function bindInstallation(store: Store, sealed: BelongingOptions['sealed']): Promise<void> {
  const { blobs, db, dataDir, ids, secrets, clock, log } = store;
  let id = await mustBelongTogether(store, { sealed, mayFound: false });
  const isJoining = id !== undefined && readMark(dataDir) === undefined;
  if (id === undefined) {
    await addSetting(db, SETTING, secrets.seal(ids.uuid(), PURPOSE, SETTING), clock.now());
    id = await loadInstallationId(store);
  }
  // If the folder was marked at an earlier start, so were the blobs: an unreachable store prevents no start.
  const isMarked = readMark(dataDir) === id;
  if (isJoining && db.dialect === 'pg' && (await blobs.readMark()) === undefined) {
    log.warn({ blobs: blobs.place }, 'this store for blobs is new; all nodes of an installation share one store');
  }
  // The data folder comes last: once it is marked, an unmarked place of blobs is another one.
  const found = await blobs.writeMark(id).catch((error: unknown) => {
    if (isMarked && error instanceof ObjectStoreFault) return id;
    throw error;
  });
  if (found !== id) throw otherMark(store, { place: blobs.place, found }, id);
  const own = writeMark(dataDir, id);
  if (own !== id) throw otherMark(store, { place: dataDir, found: own }, id);
}

interface Mark {
  place: string;
  found: string | undefined;
}

/** Returns the id of the installation that all parts belong to; throws if one does not. */
export async function loadInstallationId(store: Opened): Promise<string> {
  const id = await readId(store);
  if (id === undefined) throw new InstallationMismatch(`${nameDatabase(store)} belongs to no installation`);
  await mustBearMarks(store, id);
  return id;
}

/** Seals the id, which is a sealed text too, with the current key; returns whether another key had sealed it. */
async function sealIdAnew(store: Store): Promise<boolean> {
  const id = await loadInstallationId(store);
  const { db, secrets, clock } = store;
  const sealed = secrets.seal(id, PURPOSE, SETTING);
  if (keyIdIn((await readSetting<string>(db, SETTING)) ?? '') === keyIdIn(sealed)) return false;
  await writeSetting(db, SETTING, sealed, clock.now());
  return true;
}

async function readId(store: Opened): Promise<string | undefined> {
  const { db, secrets } = store;
  const sealed = (await hasTable(db, 'instance_settings')) ? await readSetting<string>(db, SETTING) : undefined;
  if (sealed === undefined) return undefined;
  try {
    return secrets.open(sealed, PURPOSE, SETTING);
  } catch (error) {
    throw wrongKey(store, error);
  }
}

/**
 * Checks the marks. With `mayBeAway` an unresponsive store is accepted: nothing is read from it or written to it then.
 */
async function mustBearMarks(store: Opened, id: string, { mayBeAway = false } = {}): Promise<void> {
  const { blobs, dataDir } = store;
  const ownMark = { place: dataDir, found: readMark(dataDir) };
  if (ownMark.found !== undefined && ownMark.found !== id) throw otherMark(store, ownMark, id);
  const isAway = (error: unknown): boolean => mayBeAway && ownMark.found === id && error instanceof ObjectStoreFault;
  const found = await blobs.readMark().catch((error: unknown) => {
    if (isAway(error)) return id;
    throw error;
  });
  if (found !== undefined && found !== id) throw otherMark(store, { place: blobs.place, found }, id);
  if (ownMark.found === undefined || found !== undefined) return;
  throw new InstallationMismatch(
    store.config.blobs.store === 's3'
      ? `${blobs.place} is not the store of installation ${id}, because ${MARK_FILE} is missing in it; check the bucket and the prefix. ` +
          `To move blobs from another store, run: rasket blobs move --to s3`
      : `${blobs.place} is not the folder of installation ${id}, because ${MARK_FILE} is missing in it; check that its file system is mounted. ` +
          `If it is the right one, copy ${path.join(dataDir, MARK_FILE)} into it; if they were moved to another store, set blobs.store`,
  );
}

/** Checks whether a database from before ids were written belongs here. */
async function mustBeAdoptable(store: Opened, sealedColumns: BelongingOptions['sealed']): Promise<void> {
  const { db, dataDir, blobs } = store;
  const marks: Mark[] = [
    { place: dataDir, found: readMark(dataDir) },
    { place: blobs.place, found: await blobs.readMark() },
  ];
  for (const { place, found } of marks) {
    if (found === undefined) continue;
    throw new InstallationMismatch(
      `${place} belongs to installation ${found}, but ${nameDatabase(store)} to none: ${LOST_SETTINGS}. ` +
        `If it is an older copy of the right database, remove ${MARK_FILE} from ${dataDir} and from ${blobs.place}`,
    );
  }
  const hasTeams = (await hasTable(db, 'teams')) && (await listTeams(db)).length > 0;
  if (!hasTeams) {
    // All sealed texts belong to a team.
    if (await blobs.isEmpty()) return;
    throw new InstallationMismatch(
      `${nameDatabase(store)} has no team, but ${dataDir} contains mail content: ${LOST_SETTINGS}`,
    );
  }
  let failure: unknown;
  for (const column of await sealedColumns()) {
    const rows = (await hasTable(db, column.table)) ? await sealedSamples(db, column, SAMPLES) : [];
    for (const { id, sealed } of rows) {
      try {
        store.secrets.open(sealed, column.purpose, id);
        return;
      } catch (error) {
        failure = error;
      }
    }
  }
  if (failure !== undefined) throw wrongKey(store, failure);
}

const LOST_FILE = 'was the file lost (then restore it from a backup), or ';

/** Explains how to recover a lost database file; a server whose file disappeared may have saved a copy of it. */
function lostFile(config: Config, dataDir: string): string {
  const file = path.resolve(dataDir, config.database.path);
  const copy = rescuedCopy(file);
  return copy === undefined ? LOST_FILE : `was the file lost (then: ${putBack(file, copy)}), or `;
}

const LOST_SETTINGS =
  'were the settings of its database lost (RASKET_DATABASE_DRIVER, RASKET_DATABASE_URL, RASKET_DATABASE_PATH, or --config)? Nothing was changed';

function otherMark(store: Opened, { place, found }: Mark, id: string) {
  return new InstallationMismatch(
    `${nameDatabase(store)} belongs to installation ${id}, but ${place} to installation ${found}: ${LOST_SETTINGS}`,
  );
}

const wrongKey = (store: Opened, cause: unknown) =>
  new InstallationMismatch(
    `${instanceKeyPath(store.dataDir)} is not the key of ${nameDatabase(store)}: copy the file from a node or a backup of that installation, or use the database that belongs to this folder. Nothing was changed`,
    { cause },
  );

const nameDatabase = ({ config, dataDir }: InstallationPlaces): string => databaseName(config, dataDir);

function databaseName({ database }: Config, dataDir: string): string {
  if (database.driver !== 'pg') return `the database ${path.resolve(dataDir, database.path)}`;
  const { hosts = [], database: name = '' } = parsePostgresUrl(database.url) ?? {};
  return `the PostgreSQL database ${name} at ${hosts.map(formatHost).join(', ')}`;
}

type PlaceOfBlobs = Store['config']['blobs']['store'];

/** The last move of all blobs from one place to the other. */
export interface BlobsMove {
  /** `copying`: the blobs are still used at the old place. `moved`: they are used at the new place only. */
  state: 'copying' | 'moved';
  from: PlaceOfBlobs;
  to: PlaceOfBlobs;
}

const BLOBS_MOVE_SETTING = 'blobs_move';

/** Reads the last move, also from a database that is not migrated yet. */
export const readBlobsMove = async (db: Db): Promise<BlobsMove | undefined> =>
  (await hasTable(db, 'instance_settings')) ? readSetting<BlobsMove>(db, BLOBS_MOVE_SETTING) : undefined;

/**
 * Records a move. One commit decides which place is used: the old one if the process is killed before it, otherwise the
 * new one.
 */
export const noteBlobsMove = ({ db, clock }: Pick<Store, 'db' | 'clock'>, move: BlobsMove): Promise<void> =>
  db.tx(async (tx) => {
    await writeSetting(tx, BLOBS_MOVE_SETTING, move, clock.now());
    if (move.state === 'moved') await forgetWitness(tx);
  });

/**
 * Throws if the settings name a place that the blobs are not in. Works without reaching the store, whose mark may be
 * unreadable: content stored at the wrong place would not be found.
 */
export async function mustHaveBlobsHere({ db, config }: Pick<Store, 'db' | 'config'>): Promise<void> {
  const move = await readBlobsMove(db);
  if (!move) return;
  const { state, from, to } = move;
  const here = config.blobs.store;
  if (state === 'moved' && here === from)
    throw new InstallationMismatch(
      `the blobs of this installation were moved to "${to}"; set blobs.store to that, or bring them back with: rasket blobs move --to ${from}`,
    );
  if (state === 'copying' && here === to)
    throw new InstallationMismatch(
      `the blobs of this installation were not completely moved to "${to}"; run again: rasket blobs move --to ${to}. Until then they are used where they were: blobs.store = "${from}"`,
    );
}

const BATCH = 200;

export interface SealedAnew {
  sealed: number;
  /** Number of texts that no key of the file opens: damaged, or sealed with a key that is lost. */
  unreadable: number;
}

/**
 * Seals everything with the current key that another key or the previous format has sealed. May be killed at any moment
 * and repeated, and may run while servers do: a value that is changed meanwhile is not overwritten.
 */
export async function sealAnew(store: Store, columns: readonly SealedColumn[]): Promise<SealedAnew> {
  // The id comes first: from it, other processes learn which key is current.
  const total: SealedAnew = { sealed: (await sealIdAnew(store)) ? 1 : 0, unreadable: 0 };
  for (let isChanging = true; isChanging;) {
    isChanging = false;
    total.unreadable = 0;
    for (const column of columns) {
      const { sealed, unreadable } = await sealColumnAnew(store, column);
      total.sealed += sealed;
      total.unreadable += unreadable;
      // Another pass finds what was written with the previous key meanwhile.
      isChanging ||= sealed > 0;
    }
  }
  return total;
}

async function sealColumnAnew({ db, secrets }: Store, column: SealedColumn): Promise<SealedAnew> {
  const total: SealedAnew = { sealed: 0, unreadable: 0 };
  let after: string | undefined;
  for (;;) {
    const rows = await sealedByOthers(db, column, { keyId: secrets.currentKeyId(), after, limit: BATCH });
    const changes = rows.flatMap(({ id, sealed }) => {
      try {
        return [{ id, from: sealed, to: secrets.seal(secrets.open(sealed, column.purpose, id), column.purpose, id) }];
      } catch {
        total.unreadable++;
        return [];
      }
    });
    total.sealed += await replaceSealed(db, column, changes);
    after = rows.at(-1)?.id;
    if (rows.length < BATCH) return total;
  }
}
