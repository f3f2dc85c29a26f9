import path from 'node:path';
import { readPostgresUrl, type Config } from '../../platform/config/index.ts';
import { hasTable, putBack, rescuedCopy, schemaState, serverFacts, type Executor } from '../../platform/db/index.ts';
import { MARK_FILE, readMark, writeMark } from '../../platform/installation-mark/index.ts';
import { ObjectStoreFault } from '../../platform/object-store/index.ts';
import { instanceKeyPath, keyIdIn, type SealedColumn } from '../../platform/secrets/index.ts';
import type { Store } from '../../platform/store/index.ts';
import { listTeams } from '../teams/index.ts';
import { InstallationMismatch } from './installation-mismatch.ts';
import { addSetting, readSetting, sealedSamples, writeSetting } from './instance.store.ts';
import { mustFindWitness } from './shared-folder.ts';

const SETTING = 'installation';
const PURPOSE = 'installation id';
const SAMPLES = 20;

type Place = Pick<Store, 'config' | 'dataDir' | 'blobs'>;
type Opened = Place & Pick<Store, 'secrets'> & { db: Executor };

export interface BelongingOptions {
  /** Where this version keeps sealed texts: what shows whether the key fits a database that has no id yet. */
  sealed: () => Promise<readonly SealedColumn[]>;
  /** Whether an installation may be made where there is none: by `init`, `migrate` and the development profile. */
  mayFound: boolean;
}

/** Refuses to go on without a database where mail is kept already, or where nothing was ever made. */
export async function mustHaveDatabase(place: Place, mayFound: boolean): Promise<void> {
  const { dataDir, blobs } = place;
  const empty = `${databaseName(place.config, dataDir)} is empty`;
  const id = readMark(dataDir) ?? (await blobs.readMark());
  const isFile = place.config.database.driver !== 'pg';
  if (id !== undefined || !(await blobs.isEmpty())) {
    throw new InstallationMismatch(
      `${empty}, but ${dataDir} ${id === undefined ? 'holds content of mail' : `belongs to installation ${id}`}: ${isFile ? lostFile(place.config, dataDir) : ''}${LOST_SETTINGS}`,
    );
  }
  if (!mayFound) throw new InstallationMismatch(`${empty}; make an installation with: rasket init --data ${dataDir}`);
}

/** Asked before anything is written: answers the installation's id, or undefined where the database has none yet. */
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

/** Whatever it holds, nothing of ours may be written into it. */
class UnfitDatabase extends Error {
  override readonly name = 'UnfitDatabase';
}

/** Of a database that is to be filled: in another encoding it refuses the first mail with a letter that it has not. */
export async function mustTakeAnyText(store: Place & { db: Executor }): Promise<void> {
  if (store.db.dialect !== 'pg') return;
  const { encoding } = await serverFacts(store.db);
  if (encoding === 'UTF8') return;
  throw new UnfitDatabase(
    `${databaseName(store.config, store.dataDir)} has the encoding ${encoding}, which does not hold every mail; make one with: createdb --encoding UTF8 --template template0. Nothing was changed`,
  );
}

/** Seals the id into a migrated database that has none and marks the folders. Safe to call in any number of processes. */
export async function bindInstallation(store: Store, sealed: BelongingOptions['sealed']): Promise<void> {
  const { blobs, db, dataDir, ids, secrets, clock, log } = store;
  let id = await mustBelongTogether(store, { sealed, mayFound: false });
  const isJoining = id !== undefined && readMark(dataDir) === undefined;
  if (id === undefined) {
    await addSetting(db, SETTING, secrets.seal(ids.uuid(), PURPOSE, SETTING), clock.now());
    id = await installationOf(store);
  }
  // Marked on every start before, the blobs are too: a store that is away keeps no server from starting.
  const isMarked = readMark(dataDir) === id;
  if (isJoining && db.dialect === 'pg' && (await blobs.readMark()) === undefined) {
    log.warn({ blobs: blobs.place }, 'this place of blobs is new; all nodes of an installation share one');
  }
  // The data folder last: once it is marked, an unmarked place of blobs is another one.
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

/** The id of the installation that everything of it belongs to; throws where something does not. */
export async function installationOf(store: Opened): Promise<string> {
  const id = await readId(store);
  if (id === undefined) throw new InstallationMismatch(`${nameOf(store)} belongs to no installation`);
  await mustBearMarks(store, id);
  return id;
}

/** The id is a sealed text too; answers whether another key had sealed it. */
export async function sealIdAnew(store: Store): Promise<boolean> {
  const id = await installationOf(store);
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

/** With `mayBeAway` a store that does not answer is let be: nothing is read from it or written to it then. */
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
      ? `${blobs.place} is not the store of installation ${id}, because ${MARK_FILE} is missing in it: are bucket and prefix right? ` +
          `Blobs that stand elsewhere are taken along with: rasket blobs move --to s3`
      : `${blobs.place} is not the folder of installation ${id}, because ${MARK_FILE} is missing in it: is its file system mounted? ` +
          `If it is the right one, copy ${path.join(dataDir, MARK_FILE)} into it; if they were moved to another store, set blobs.store`,
  );
}

/** A database of before ids were written. */
async function mustBeAdoptable(store: Opened, sealedColumns: BelongingOptions['sealed']): Promise<void> {
  const { db, dataDir, blobs } = store;
  const marks: Mark[] = [
    { place: dataDir, found: readMark(dataDir) },
    { place: blobs.place, found: await blobs.readMark() },
  ];
  for (const { place, found } of marks) {
    if (found === undefined) continue;
    throw new InstallationMismatch(
      `${place} belongs to installation ${found}, but ${nameOf(store)} to none: ${LOST_SETTINGS}. ` +
        `If it is an older copy of the right database, remove ${MARK_FILE} from ${dataDir} and from ${blobs.place}`,
    );
  }
  const hasTeams = (await hasTable(db, 'teams')) && (await listTeams(db)).length > 0;
  if (!hasTeams) {
    // Whatever is sealed belongs to a team.
    if (await blobs.isEmpty()) return;
    throw new InstallationMismatch(
      `${nameOf(store)} has no team, but ${dataDir} holds content of mail: ${LOST_SETTINGS}`,
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

/** A server whose file was lost beside it has left what it held. */
function lostFile(config: Config, dataDir: string): string {
  const file = path.resolve(dataDir, config.database.path);
  const copy = rescuedCopy(file);
  return copy === undefined ? LOST_FILE : `was the file lost (then: ${putBack(file, copy)}), or `;
}

const LOST_SETTINGS =
  'were the settings of its database lost (RASKET_DATABASE_DRIVER, RASKET_DATABASE_URL, RASKET_DATABASE_PATH, or --config)? Nothing was changed';

function otherMark(store: Opened, { place, found }: Mark, id: string) {
  return new InstallationMismatch(
    `${nameOf(store)} belongs to installation ${id}, but ${place} to installation ${found}: ${LOST_SETTINGS}`,
  );
}

const wrongKey = (store: Opened, cause: unknown) =>
  new InstallationMismatch(
    `${instanceKeyPath(store.dataDir)} is not the key of ${nameOf(store)}: copy the file from a node or a backup of that installation, or name the database that belongs to this folder. Nothing was changed`,
    { cause },
  );

const nameOf = ({ config, dataDir }: Place): string => databaseName(config, dataDir);

function databaseName({ database }: Config, dataDir: string): string {
  if (database.driver !== 'pg') return `the database ${path.resolve(dataDir, database.path)}`;
  const { host = '', port = '', database: name = '' } = readPostgresUrl(database.url) ?? {};
  return `the PostgreSQL database ${name} at ${host}${port === '' ? '' : `:${port}`}`;
}
