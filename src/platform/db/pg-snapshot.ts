import { pgAddress } from './pg-address.ts';
import { createPgInsert } from './pg-insert.ts';
import { createPgStatements } from './pg-statements.ts';
import { withoutTimeouts } from './pg-timeouts.ts';
import type { Executor } from './types.ts';

/** What is committed now, for as long as it is open: `pg_dump --snapshot` copies the same. */
export interface PgSnapshot extends Executor {
  id: string;
  /** Such as `17.2 (Debian 17.2-1)`, and its first number. */
  version: string;
  major: number;
  /** The schema that our tables stand in. */
  namespace: string;
  close(): Promise<void>;
}

/** Another process holds the lock that only one may hold. */
export class SnapshotInUse extends Error {
  override readonly name = 'SnapshotInUse';
}

/** Any number that no other program takes: the name of our lock among the advisory locks of a database. */
const LOCK = 7_264_015_551;
/** Only here, so that a start on SQLite does not load it. */
const library = () => import('./pg-db.ts');

const CONNECT_MS_MAX = 10_000;

/**
 * On a connection of its own, because counting large tables takes longer than a statement of the server may. With `isAlone` one process of all
 * has it at a time; a process that dies lets go of it.
 */
export async function openPgSnapshot(url: string, { isAlone }: { isAlone: boolean }): Promise<PgSnapshot> {
  const { executorOn, pgClient } = await library();
  const client = pgClient({
    ...{ connectionString: pgAddress(url), application_name: 'rasket backup', keepAlive: true },
    connectionTimeoutMillis: CONNECT_MS_MAX,
  });
  // A connection that is lost fails the statements on it.
  client.on('error', ignore);
  await client.connect();
  try {
    // It waits for a dump, and for files that are copied. In one message: the time of a transaction is limited from its beginning on.
    await client.query(`begin isolation level repeatable read read only; ${withoutTimeouts({ inTransaction: true })}`);
    const executor = executorOn(client, { statements: createPgStatements(), insert: createPgInsert() }, ignore);
    if (isAlone) await mustBeAlone(executor);
    const facts = await executor.get<{ id: string; version: string; number: string; namespace: string }>(
      `select pg_export_snapshot() as id, current_setting('server_version') as version,
          current_setting('server_version_num') as number, current_schema() as namespace from (select 1) as one`,
    );
    if (!facts) throw new Error('a select without a table answers one row');
    const { id, version, namespace } = facts;
    const major = Math.floor(Number(facts.number) / 10_000);
    return { ...executor, id, version, major, namespace, close: () => client.end() };
  } catch (error) {
    await client.end().catch(ignore);
    throw error;
  }
}

async function mustBeAlone(executor: Executor): Promise<void> {
  const row = await executor.get<{ taken: number }>(
    'select pg_try_advisory_xact_lock(?)::int as taken from (select 1) as one',
    [LOCK],
  );
  if (row?.taken !== 1) throw new SnapshotInUse('another node makes one at this moment');
}

type PartOfUrl = 'host' | 'port' | 'user' | 'database' | 'password';

/** How PostgreSQL's own programs reach what a database URL leads to, but for TLS. */
export async function partsOfPgUrl(url: string): Promise<Record<PartOfUrl, string>> {
  const { pgClient } = await library();
  const { host, port, user = '', database = '', password } = pgClient({ connectionString: pgAddress(url) });
  return { host, port: String(port), user, database, password: password ?? '' };
}

function ignore(): void {}
