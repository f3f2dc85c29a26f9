import pg from 'pg';

/**
 * Connections that empty the databases of this process. A new connection opens every table and index for the first
 * time, which is two thirds of the work; one that has emptied before has them cached.
 */
const kept = new Map<string, pg.Client>();

/**
 * Empties a database for the next scene, which costs a tenth of dropping it and copying another. Returns false if it is
 * not as the migrations left it, for example after a test that added a trigger: then it has to be dropped.
 */
export async function emptyDatabase(url: string, migrated: Migrated): Promise<boolean> {
  try {
    const isGood = await emptyBy(kept.get(url) ?? (await connectTo(url)), migrated);
    if (!isGood) await forget(url);
    return isGood;
  } catch {
    await forget(url);
    return false;
  }
}

async function connectTo(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  // The server is stopped at the end of the run, and a test may drop the database.
  client.on('error', () => void kept.delete(url));
  await client.connect();
  // The connection waits from one scene to the next, and does not count as left open by a file.
  (client as pg.Client & { unref(): void }).unref();
  kept.set(url, client);
  return client;
}

/** Closes the connection to the database, so that it can be copied: PostgreSQL copies none that somebody is connected to. */
export async function releaseDatabase(name: string): Promise<void> {
  for (const url of kept.keys()) if (new URL(url).pathname === `/${name}`) await forget(url);
}

async function forget(url: string): Promise<void> {
  const client = kept.get(url);
  kept.delete(url);
  await client?.end().catch(() => undefined);
}

async function emptyBy(client: pg.Client, { form, rows }: Migrated): Promise<boolean> {
  // A killed process may still hold locks, and would write once more.
  await client.query(
    'select pg_terminate_backend(pid, 10000) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
  );
  await client.query(EMPTY);
  // Our triggers would note the rows that are put back.
  await client.query('set session_replication_role = replica');
  for (const [table, json] of rows) {
    await client.query(`insert into ${table} select * from json_populate_recordset(null::${table}, $1)`, [json]);
  }
  return (await readForm(client)) === form;
}

/** The state after the migrations. */
export interface Migrated {
  /** A digest of the schema: two databases with the same one behave alike. */
  form: string;
  /** The tables that have rows, with the rows as JSON. */
  rows: [table: string, json: string][];
}

export async function readMigrated(url: string): Promise<Migrated> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const tables = await client.query<{ name: string }>(
      "select tablename as name from pg_tables where schemaname = 'public' and tablename not like 'schema_migrations%'",
    );
    const rows: [string, string][] = [];
    for (const { name } of tables.rows) {
      const { json } =
        (await client.query<{ json: string | null }>(`select json_agg(t)::text as json from ${name} t`)).rows[0] ?? {};
      if (json) rows.push([name, json]);
    }
    return { form: await readForm(client), rows };
  } finally {
    await client.end();
  }
}

const readForm = async (client: pg.Client): Promise<string> =>
  (await client.query<{ form: string }>(FORM)).rows[0]?.form ?? '';

/**
 * A large table is truncated with its file: deleted rows would be read by every scan, and change the plans. Every other
 * table that a row was ever written to is emptied, so that no reference has to be checked; only a superuser may skip
 * that, else it fails here. A file of no bytes has no rows: opening each of its tables would be most of the work of a
 * new connection.
 */
const EMPTY = `
do $$
declare
  written record;
  name text;
begin
  set local session_replication_role = replica;
  for written in
    select relname, (pg_stat_file('base/' || d.oid || '/' || pg_relation_filenode(c.oid))).size as bytes
      from pg_class c, pg_database d
      where c.relnamespace = 'public'::regnamespace and c.relkind = 'r' and c.relname not like 'schema_migrations%'
        and d.datname = current_database()
  loop
    if written.bytes > 65536 then
      execute format('truncate %I cascade', written.relname);
    elsif written.bytes > 0 then
      execute format('delete from %I', written.relname);
    end if;
  end loop;
  for name in select sequencename from pg_sequences where schemaname = 'public' and sequencename not like 'schema_migrations%' loop
    perform setval(name::regclass, 1, false);
  end loop;
end $$`;

/**
 * Covers tables, columns, indexes, constraints, triggers, functions, settings, and statistics of the values. The oids
 * of copies are the same.
 */
const FORM = `
select md5(string_agg(part, ';' order by part)) as form from (
  select concat_ws(' ', 'class', oid, relname, relkind, reloptions::text, reltuples > 0) as part
    from pg_class where relnamespace = 'public'::regnamespace
  union all
  select concat_ws(' ', 'column', attrelid, attname, atttypid, attnotnull)
    from pg_attribute join pg_class c on c.oid = attrelid
    where c.relnamespace = 'public'::regnamespace and relkind = 'r' and attnum > 0
  union all
  select concat_ws(' ', 'constraint', oid, conname) from pg_constraint where connamespace = 'public'::regnamespace
  union all
  select concat_ws(' ', 'trigger', tgname, tgrelid) from pg_trigger where not tgisinternal
  union all
  select concat_ws(' ', 'function', proname) from pg_proc where pronamespace = 'public'::regnamespace
  union all
  select concat_ws(' ', 'setting', setconfig) from pg_db_role_setting s join pg_database d on d.oid = s.setdatabase
    where d.datname = current_database()
  union all
  select concat_ws(' ', 'statistics', starelid, staattnum) from pg_statistic join pg_class c on c.oid = starelid
    where c.relnamespace = 'public'::regnamespace
  union all
  select concat_ws(' ', 'migration', name) from schema_migrations
) parts`;
