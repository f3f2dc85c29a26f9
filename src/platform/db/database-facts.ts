import type { Executor } from './db.ts';

/** What has to hold of a PostgreSQL database before everything is written into it. */
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
  if (!row) throw new Error('a select without a table answers one row');
  return {
    version: row.version,
    encoding: row.encoding,
    isReplica: row.isReplica === 'true',
    isReadOnly: row.isReadOnly === 'on',
    mayCreate: row.mayCreate === 'true',
  };
}

/** A session that a process of ours has at this PostgreSQL database. */
export interface DatabaseSession {
  pid: number;
  application: string;
  /** The address of its machine; null for one that came by a Unix socket of the server's own. */
  host: string | null;
  openMs: number;
}

/** Those of other processes, the oldest first. `own` is the name of the caller's. */
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

/** How the name of a move's own sessions begins, by which nodes know that it is still under way. */
export const MOVE_SESSION = 'rasket-move-';

/** Whether a move is under way on this PostgreSQL database. */
export async function hasMoveSession(db: Pick<Executor, 'get'>): Promise<boolean> {
  const row = await db.get<{ n: number }>(
    `select count(*) as n from pg_stat_activity where datname = current_database() and starts_with(application_name, ?)`,
    [MOVE_SESSION],
  );
  return (row?.n ?? 0) > 0;
}

/** What the database takes on its disk, in bytes. */
export async function databaseBytes(db: Pick<Executor, 'dialect' | 'get'>): Promise<number> {
  const sql =
    db.dialect === 'pg'
      ? 'select pg_database_size(current_database()) as bytes from (select 1) as one'
      : 'select page_count * page_size as bytes from pragma_page_count() join pragma_page_size()';
  return Number((await db.get<{ bytes: number }>(sql))?.bytes ?? 0);
}

/** What all tables of this PostgreSQL database take without their indexes, in bytes. */
export async function tableBytes(db: Pick<Executor, 'get'>): Promise<number> {
  const sql = `select coalesce(sum(pg_table_size(oid)), 0)::text as bytes from pg_class where relkind in ('r', 'm')`;
  return Number((await db.get<{ bytes: string }>(sql))?.bytes ?? 0);
}

/** So that PostgreSQL plans by what the tables hold, which it has not seen yet. */
export async function gatherStatistics(db: Executor, tables: readonly string[]): Promise<void> {
  if (db.dialect === 'pg') for (const table of tables) await db.run(`analyze "${table}"`);
}
