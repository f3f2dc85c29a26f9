import type { Knex } from 'knex';
import { namesIn } from '../../program-files/index.ts';
import type { Db } from './db.ts';

const TABLE = 'schema_migrations';

export class SchemaTooNew extends Error {
  override readonly name = 'SchemaTooNew';
}

/** Thrown if migrations were applied but are not recorded. */
export class SchemaIncomplete extends Error {
  override readonly name = 'SchemaIncomplete';
}

export interface SchemaState {
  done: string[];
  pending: string[];
}

let known: readonly string[] | undefined;

/** Lists the migrations of this program, in order. */
const knownMigrations = (): readonly string[] =>
  (known ??= namesIn('migrations')
    .filter((name) => /^\d{4}_.*\.ts$/.test(name))
    .map((name) => name.replace(/\.ts$/, ''))
    .sort());

class MigrationFolder implements Knex.MigrationSource<string> {
  async getMigrations(): Promise<string[]> {
    return [...knownMigrations()];
  }
  getMigrationName(name: string): string {
    return name;
  }
  async getMigration(name: string): Promise<Knex.Migration> {
    const { up } = (await import(`../../../migrations/${name}.ts`)) as Pick<Knex.Migration, 'up'>;
    return { up, down: refuseToGoBack };
  }
}

/**
 * knex requires a `down` for every migration. To return to an older version, restore the backup that an upgrade begins
 * with.
 */
async function refuseToGoBack(): Promise<never> {
  throw new Error('the schema cannot be migrated back to an older version');
}

/** For code that runs before it is known how far a database is migrated. */
export async function hasTable(db: Pick<Db, 'dialect' | 'get'>, table: string): Promise<boolean> {
  const sql =
    db.dialect === 'pg'
      ? 'select 1 as found where to_regclass(?) is not null'
      : `select 1 as found from sqlite_master where type = 'table' and name = ?`;
  return (await db.get(sql, [table])) !== undefined;
}

export async function schemaState(db: Pick<Db, 'dialect' | 'get' | 'all'>): Promise<SchemaState> {
  const rows = (await hasTable(db, TABLE))
    ? await db.all<{ name: string }>(`select name from ${TABLE} order by id`)
    : [];
  return compareWithKnown(rows);
}

async function stateWithin(trx: Knex.Transaction): Promise<SchemaState> {
  const exists = await trx.schema.hasTable(TABLE);
  return compareWithKnown(exists ? await trx<{ name: string }>(TABLE).select('name').orderBy('id') : []);
}

function compareWithKnown(rows: readonly { name: string }[]): SchemaState {
  const all = knownMigrations();
  const done = rows.map((row) => row.name);
  const unknown = done.find((name) => !all.includes(name));
  if (unknown !== undefined) {
    const isNewer = unknown.slice(0, 4) > (all.at(-1) ?? '').slice(0, 4);
    throw new SchemaTooNew(
      isNewer
        ? `the database was written by a newer rasket (it holds the migration ${unknown}); start that version or a later one`
        : `the database was made by a development version of rasket that this one does not continue (it holds the migration ${unknown}); start with a new data folder or database`,
    );
  }
  const applied = new Set(done);
  return { done, pending: all.filter((name) => !applied.has(name)) };
}

/** Key of our advisory lock on a PostgreSQL server; any number that no other program uses. */
const LOCK = 7_236_501;

/**
 * Applies all pending migrations or none; refuses a database with a newer schema. Returns the applied migrations. Nodes
 * that start together on PostgreSQL take turns; on SQLite the data folder's lock keeps a second one away.
 */
export async function migrate(db: Db): Promise<string[]> {
  if ((await schemaState(db)).pending.length === 0) return [];
  return db.withKnex((knex) =>
    knex.transaction(async (trx) => {
      if (db.dialect === 'pg') await trx.raw('select pg_advisory_xact_lock(?)', [LOCK]);
      return apply(trx);
    }),
  );
}

/**
 * Throws a SchemaIncomplete if a migration was applied and its record is missing. It tries only a migration that is
 * missing while later ones are recorded, because such a migration may also have been merged late; the try is rolled
 * back.
 */
export async function mustNotBeApplied(db: Db): Promise<void> {
  if (lostNotes(await schemaState(db)).length === 0) return;
  const ending = new Error('tried alone');
  await db
    .withKnex((knex) =>
      knex.transaction(async (trx) => {
        await apply(trx);
        throw ending;
      }),
    )
    .catch((error: unknown) => {
      if (error !== ending) throw error;
    });
}

async function apply(trx: Knex.Transaction): Promise<string[]> {
  const state = await stateWithin(trx);
  if (state.pending.length > 0) {
    await trx.migrate
      .latest({ migrationSource: new MigrationFolder(), tableName: TABLE })
      .catch((error: unknown) => refuseSecondTime(error, state));
  }
  return state.pending;
}

const lostNotes = ({ pending, done }: SchemaState): string[] => {
  const last = done.toSorted().at(-1) ?? '';
  return pending.filter((name) => name < last);
};

/**
 * Throws a SchemaIncomplete if a migration creates something that exists: its record is missing, or the tables differ
 * from the records.
 */
function refuseSecondTime(error: unknown, state: SchemaState): never {
  const message = error instanceof Error ? error.message : String(error);
  if (!/already exists|duplicate column/.test(message)) throw error;
  const lost = lostNotes(state);
  const what =
    lost.length > 0
      ? `the table ${TABLE} of the database lacks ${lost.join(', ')}, and has later ones`
      : `the database has parts of ${state.pending[0]} already, which is not noted in the table ${TABLE}`;
  // knex puts the statement before the message.
  const reason = message.split(' - ').at(-1);
  throw new SchemaIncomplete(`${what} (${reason}); restore the database from a backup. Nothing was changed`, {
    cause: error,
  });
}
