import type { Executor } from './db.ts';

/** Facts about a PostgreSQL database that are checked before everything is written into it. */
export interface ServerFacts {
  version: string;
  encoding: string;
  isReplica: boolean;
  isReadOnly: boolean;
  mayCreate: boolean;
}

export async function serverFacts(db: Executor): Promise<ServerFacts> {
  const row = await db.get<Record<keyof ServerFacts, string>>(
    `select current_setting('server_version') as version, current_setting('server_encoding') as encoding,
        pg_is_in_recovery()::text as "isReplica", current_setting('default_transaction_read_only') as "isReadOnly",
        coalesce(has_schema_privilege(current_schema(), 'create'), false)::text as "mayCreate"
      from (select 1) as one`,
  );
  if (!row) throw new Error('no row was returned for the database facts');
  return {
    version: row.version,
    encoding: row.encoding,
    isReplica: row.isReplica === 'true',
    isReadOnly: row.isReadOnly === 'on',
    mayCreate: row.mayCreate === 'true',
  };
}

/** A session of one of our processes at this PostgreSQL database. */
export interface DatabaseSession {
  pid: number;
  application: string;
  /** The address of its machine; null for a session through a Unix socket of the server. */
  host: string | null;
  openMs: number;
}

/** Lists the sessions of other processes, the oldest first. `own` is the name of the caller's. */
export async function otherSessions(db: Pick<Executor, 'all'>, own: string): Promise<DatabaseSession[]> {
  const rows = await db.all<DatabaseSession>(
    `select pid, application_name as application, host(client_addr) as host,
        (extract(epoch from now() - backend_start) * 1000)::bigint as "openMs" from pg_stat_activity
      where datname = current_database() and application_name like 'rasket%' and application_name <> ?
      order by backend_start, pid`,
    [own],
  );
  return rows.map((row) => ({ ...row, openMs: Number(row.openMs) }));
}

/** Prefix of the names of a move's own sessions, by which nodes know that it is still in progress. */
export const MOVE_SESSION = 'rasket-move-';

/** Reports whether a move is in progress on this PostgreSQL database. */
export async function hasMoveSession(db: Pick<Executor, 'get'>): Promise<boolean> {
  const row = await db.get<{ n: number }>(
    `select count(*) as n from pg_stat_activity where datname = current_database() and starts_with(application_name, ?)`,
    [MOVE_SESSION],
  );
  return (row?.n ?? 0) > 0;
}

/** Returns the size of the database on disk, in bytes. */
export async function databaseBytes(db: Pick<Executor, 'dialect' | 'get'>): Promise<number> {
  const sql =
    db.dialect === 'pg'
      ? 'select pg_database_size(current_database()) as bytes from (select 1) as one'
      : 'select page_count * page_size as bytes from pragma_page_count() join pragma_page_size()';
  return Number((await db.get<{ bytes: number }>(sql))?.bytes ?? 0);
}

/** Returns the size of all tables of this PostgreSQL database without their indexes, in bytes. */
export async function tableBytes(db: Pick<Executor, 'get'>): Promise<number> {
  const sql = `select coalesce(sum(pg_table_size(oid)), 0)::text as bytes from pg_class where relkind in ('r', 'm')`;
  return Number((await db.get<{ bytes: string }>(sql))?.bytes ?? 0);
}

/** Updates PostgreSQL's statistics, so that it plans for the new content of the tables. */
export async function gatherStatistics(db: Executor, tables: readonly string[]): Promise<void> {
  if (db.dialect === 'pg') for (const table of tables) await db.run(`analyze "${table}"`);
}
