import pg from 'pg';

const TIMEOUTS = ['idle_in_transaction_session_timeout', 'lock_timeout', 'statement_timeout', 'transaction_timeout'];

/** For work that takes as long as it takes, whatever server, database or role have set. PostgreSQL before 17 has not all of them. */
export const withoutTimeouts = ({ inTransaction }: { inTransaction: boolean }): string =>
  `select set_config(name, '0', ${inTransaction}) from pg_settings where name in (${TIMEOUTS.map((name) => `'${name}'`).join(', ')})`;

/** A node that vanished in a transaction holds rows which every other node writes, and a server learns of it after hours. */
const VANISHED_MS = 10_000;

/**
 * `off` would answer before a commit is on disk, and a crash of the server would take back accepted mail. Any other value
 * has at least this server's disk waited for, and is the operator's choice.
 */
const SYNCED = `select set_config('synchronous_commit', 'on', false) where current_setting('synchronous_commit') = 'off'`;

/** What the operator has set stays. */
const LET_GO = `select set_config('idle_in_transaction_session_timeout', '${VANISHED_MS}', false)
  where current_setting('idle_in_transaction_session_timeout') = '0'`;

/** Of a migration, which is one transaction with pauses of its own. */
const UNHURRIED = withoutTimeouts({ inTransaction: false });

/**
 * Within these a server ends the session of a client that is gone without a word: one that waits for it, one that sends to it, and one
 * that works for it. By the defaults of the system it takes two hours, and the session is in the way of a move so long.
 */
const GONE = {
  tcp_keepalives_idle: '20',
  tcp_keepalives_interval: '5',
  tcp_keepalives_count: '4',
  tcp_user_timeout: '40000',
  client_connection_check_interval: '10000',
};

/** Of those that this server knows; what the operator has set stays. */
const END_WHEN_GONE = `select set_config(name, wanted, false) from pg_settings
  join (values ${Object.entries(GONE)
    .map(([name, value]) => `('${name}', '${value}')`)
    .join(', ')}) as ours (setting_name, wanted) on setting_name = name
  where source = 'default'`;

type Client = Pick<pg.ClientBase, 'query'>;

/** On every connection, before its use. */
export async function prepareSession(client: Client): Promise<void> {
  await Promise.all([client.query(SYNCED), client.query(LET_GO), endWhenGone(client)]);
}

export async function prepareMigration(client: Client): Promise<void> {
  await client.query(SYNCED);
  await client.query(UNHURRIED);
  await endWhenGone(client);
}

/** A server whose system knows no such setting refuses it, and is used without. */
export async function endWhenGone(client: Client): Promise<void> {
  await client.query(END_WHEN_GONE).catch(() => undefined);
}

/** Any number that no other program takes: the name of our lock among the advisory locks of a database. */
const LOCK = 7_264_015_552;
const CONNECT_MS_MAX = 10_000;

/**
 * Waits until no other process has the turn, and answers how it ends. On a connection of its own, in a transaction that reads nothing,
 * so that no other transaction waits for it. A process that dies lets go of it.
 */
export async function openPgTurn(url: string, onWait: () => void): Promise<() => Promise<void>> {
  const client = new pg.Client({
    connectionString: pgAddress(url),
    application_name: 'rasket upgrade',
    keepAlive: true,
    connectionTimeoutMillis: CONNECT_MS_MAX,
  });
  // A turn that is lost with its connection costs a second backup; migrations lock one another out themselves.
  client.on('error', ignoreEnd);
  await client.connect();
  try {
    await endWhenGone(client);
    // In one message: the time of a transaction is limited from its beginning on.
    await client.query(`begin; ${withoutTimeouts({ inTransaction: true })}`);
    const { rows } = await client.query<{ taken: boolean }>('select pg_try_advisory_xact_lock($1) as taken', [LOCK]);
    if (rows[0]?.taken !== true) {
      onWait();
      await client.query('select pg_advisory_xact_lock($1)', [LOCK]);
    }
    return () => client.end().catch(ignoreEnd);
  } catch (error) {
    await client.end().catch(ignoreEnd);
    throw error;
  }
}

function ignoreEnd(): void {}

/**
 * Keeps a session of this name open, whatever else the process does; answers what ends it. In a transaction that reads nothing, because a
 * pooler in transaction mode lends the session to others between two of them.
 */
export async function openPgPresence(url: string, name: string): Promise<() => Promise<void>> {
  const client = new pg.Client({
    connectionString: pgAddress(url),
    application_name: name,
    keepAlive: true,
    connectionTimeoutMillis: CONNECT_MS_MAX,
  });
  // One that is lost is lost: whoever looks for it takes the process for gone.
  client.on('error', ignoreEnd);
  try {
    await client.connect();
    await endWhenGone(client);
    // In one message: the time of a transaction is limited from its beginning on.
    await client.query(`begin; ${withoutTimeouts({ inTransaction: true })}`);
  } catch (error) {
    await client.end().catch(ignoreEnd);
    throw error;
  }
  return () => client.end().catch(ignoreEnd);
}

/**
 * A URL of a database with the `sslmode` said that is in force: `pg` takes these three for verify-full, and has a later version of it be more
 * lenient. It would say so, at length, at every start.
 */
export function pgAddress(url: string): string {
  if (/[?&]uselibpqcompat=true(&|$)/.test(url)) return url;
  return url.replace(/([?&]sslmode=)(?:prefer|require|verify-ca)(?=&|$)/, '$1verify-full');
}
