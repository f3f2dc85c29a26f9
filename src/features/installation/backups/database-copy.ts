import { BackupFault, type BackupFacts } from './backup-folder.ts';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import type { Config } from '../../../platform/config/index.ts';
import {
  openSnapshot,
  writeSnapshot,
  countRows,
  openPgSnapshot,
  schemaState,
  serverFacts,
  tableShapes,
  type Db,
  type Executor,
  type PgSnapshot,
} from '../../../platform/db/index.ts';
import { blobsFolder, openFileBlobs, type Blobs } from '../../../platform/blobs/index.ts';
import { dumpDatabase, dumpVersion } from '../../../platform/pg-programs.ts';
import type { Store } from '../../../platform/store.ts';
import { keysInRows, namedContents } from '../moves/named-contents.store.ts';

const DUMP_FILE = 'rasket.dump';

interface DumpSource {
  config: Pick<Config, 'database'>;
  db: Db;
  programs: string;
}

/** Returns the URL of PostgreSQL itself, if `url` leads to a pooler that does not keep connections. */
export const directUrl = ({ database }: Pick<Config, 'database'>): string => database.listen_url || database.url;

/** Returns the reason that the scheduled backup would fail, before it is due; undefined if nothing prevents it. */
export const loadNoDumpReason = async (store: Pick<Store, 'config' | 'db'>): Promise<string | undefined> =>
  store.config.backup.schedule === '' ? undefined : findNoDumpReason(store);

/** Returns the reason that no dump can be made: pg_dump is missing, or older than the server. */
export async function findNoDumpReason({ config, db }: Pick<Store, 'config' | 'db'>): Promise<string | undefined> {
  if (db.dialect !== 'pg') return undefined;
  const { version } = await serverFacts(db);
  try {
    await mustReadServer(config.backup.pg_programs, { major: Number.parseInt(version, 10), version });
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** Returns the version of pg_dump; throws if it cannot read this server. */
async function mustReadServer(
  programs: string,
  { major, version }: Pick<PgSnapshot, 'major' | 'version'>,
): Promise<string> {
  const found = await dumpVersion(programs);
  if (found.major >= major) return found.version;
  throw new BackupFault(
    `pg_dump is of version ${found.version} and the server of ${version}, which it cannot read; install the client programs of version ${major} (Debian: postgresql-client-${major}), or name their folder in backup.pg_programs`,
  );
}

/** Dumps one PostgreSQL snapshot, which stays open until the content is copied and the rows are counted. */
export async function withDump<T>(
  { config, db, programs }: DumpSource,
  { isAlone, signal }: { isAlone: boolean; signal: AbortSignal | undefined },
  work: (copy: DatabaseCopy) => Promise<T>,
): Promise<T> {
  const snapshot = await openPgSnapshot(directUrl(config), { isAlone });
  try {
    const program = await mustReadServer(programs, snapshot);
    const { version: server, namespace } = snapshot;
    return await work({
      name: DUMP_FILE,
      write: (part) =>
        dumpDatabase({
          programs,
          url: snapshot.url,
          snapshot: snapshot.id,
          file: path.join(part, DUMP_FILE),
          signal,
        }),
      mustHaveContent: (part) => mustHaveContent({ snapshot, db }, openFileBlobs(blobsFolder(part))),
      describe: async () => ({
        schema: (await schemaState(snapshot)).done.at(-1) ?? null,
        rows: await countAll(snapshot),
        dump: { program, server, namespace },
      }),
    });
  } finally {
    await snapshot.close();
  }
}

async function countAll(snapshot: Executor): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const { name } of await tableShapes(snapshot)) counts[name] = await countRows(snapshot, name);
  return counts;
}

const TOLD_MAX = 5;

/**
 * Throws if rows name missing content. Content removed since the snapshot is no longer named by any current row; a
 * restored copy removes those rows as well, because they have expired.
 */
async function mustHaveContent({ snapshot, db }: { snapshot: Executor; db: Db }, blobs: Blobs): Promise<void> {
  // Rows of an earlier schema name the content differently.
  if ((await schemaState(snapshot)).pending.length > 0) return;
  const missing = await absentContents(snapshot, blobs, () => true);
  if (missing.size === 0) return;
  const lost = await absentContents(db, blobs, (key) => missing.has(key));
  if (lost.size === 0) return;
  const named = [...lost].slice(0, TOLD_MAX).map(([key, table]) => `${key} (${table})`);
  throw new BackupFault(`rows name content that is not there: ${named.join(', ')}; ${lost.size} in all`);
}

async function absentContents(
  db: Executor,
  blobs: Blobs,
  isAsked: (key: string) => boolean,
): Promise<Map<string, string>> {
  const absent = new Map<string, string>();
  for await (const { table, named } of namedContents(db)) {
    const inRows = await keysInRows(db, [...new Set(named.map(({ owner }) => owner))]);
    for (const { owner, name } of named) {
      const key = `${owner}/${name}`;
      if (isAsked(key) && !inRows.has(key) && !(await isThere(blobs, key))) absent.set(key, table);
    }
  }
  return absent;
}

const isThere = (blobs: Blobs, key: string): Promise<boolean> =>
  blobs.size(key).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return false;
      throw error;
    },
  );

/** Copies the SQLite file as of one moment. */
export function fileCopy({ config, db }: { config: Pick<Config, 'database'>; db: Db }): DatabaseCopy {
  const name = databaseName(config);
  return {
    name,
    async write(part) {
      await mkdir(path.dirname(path.join(part, name)), { recursive: true, mode: 0o700 });
      await writeSnapshot(db, path.join(part, name));
    },
    mustHaveContent: () => Promise.resolve(),
    async describe(part) {
      const snapshot = openSnapshot(path.join(part, name));
      const described = { schema: snapshot.lastMigration() ?? null, rows: snapshot.rowCounts() };
      snapshot.close();
      return described;
    },
  };
}

/**
 * Returns the path at which the restored folder finds the database with the same settings; a file elsewhere is copied
 * into the folder.
 */
function databaseName({ database }: Pick<Config, 'database'>): string {
  const isInside = !path.isAbsolute(database.path) && !path.normalize(database.path).startsWith('..');
  return isInside ? database.path : path.basename(database.path);
}

/** Copies a database into a backup, for either kind of database. */
export interface DatabaseCopy {
  /** Name of the file within the folder of the backup. */
  name: string;
  write(part: string): Promise<void>;
  /** Throws if a row of the copy names content that was not copied. */
  mustHaveContent(part: string): Promise<void>;
  describe(part: string): Promise<Pick<BackupFacts, 'schema' | 'rows' | 'dump'>>;
}
