import type pg from 'pg';
import { PgServers, ServerClient } from './pg-servers.ts';

const TIMEOUTS = ['idle_in_transaction_session_timeout', 'lock_timeout', 'statement_timeout', 'transaction_timeout'];

/**
 * Removes all time limits that the server, database or role have set, for work of unlimited duration. PostgreSQL before
 * 17 does not have all of these settings.
 */
export const withoutTimeouts = ({ inTransaction }: { inTransaction: boolean }): string =>
  `select set_config(name, '0', ${inTransaction}) from pg_settings where name in (${TIMEOUTS.map((name) => `'${name}'`).join(', ')})`;

/**
 * A node that vanished in a transaction holds rows that every other node writes, and a server only notices after hours.
 */
const VANISHED_MS = 10_000;

/**
 * `off` would report a commit before it is on disk, and a crash of the server would lose accepted mail. Any other value
 * waits at least for this server's disk, and is the operator's choice.
 */
const SYNCED = `select set_config('synchronous_commit', 'on', false) where current_setting('synchronous_commit') = 'off'`;

/** Sets the limit only if the operator has set none. */
const LET_GO = `select set_config('idle_in_transaction_session_timeout', '${VANISHED_MS}', false)
  where current_setting('idle_in_transaction_session_timeout') = '0'`;

/** For a migration, which is one transaction with pauses of its own. */
const UNHURRIED = withoutTimeouts({ inTransaction: false });

/**
 * Time within which a server ends the session of a vanished client, whether it waits for the client, sends to it, or
 * works for it. With the defaults of the system it takes two hours, during which the session blocks a move.
 */
const GONE = {
  tcp_keepalives_idle: '20',
  tcp_keepalives_interval: '5',
  tcp_keepalives_count: '4',
  tcp_user_timeout: '40000',
  client_connection_check_interval: '10000',
};

/** Sets those that this server supports and the operator has not set. */
const END_WHEN_GONE = `select set_config(name, wanted, false) from pg_settings
  join (values ${Object.entries(GONE)
    .map(([name, value]) => `('${name}', '${value}')`)
    .join(', ')}) as ours (setting_name, wanted) on setting_name = name
  where source = 'default'`;

type Client = Pick<pg.ClientBase, 'query'>;

/** Prepares a new connection, before its first use. */
export async function prepareSession(client: Client): Promise<void> {
  await Promise.all([client.query(SYNCED), client.query(LET_GO), endWhenGone(client)]);
}

export async function prepareMigration(client: Client): Promise<void> {
  await client.query(SYNCED);
  await client.query(UNHURRIED);
  await endWhenGone(client);
}

/** A server whose system lacks such a setting rejects it, and is used without. */
export async function endWhenGone(client: Client): Promise<void> {
  await client.query(END_WHEN_GONE).catch(() => undefined);
}

/** Key of our advisory lock on a database; any number that no other program uses. */
const LOCK = 7_264_015_552;
const CONNECT_MS_MAX = 10_000;

/**
 * Waits until no other process has the turn, and returns the function that ends it. It uses a separate connection, in a
 * transaction that reads nothing, so that no other transaction waits for it. The turn of a process that dies ends.
 */
export async function openPgTurn(url: string, onWait: () => void): Promise<() => Promise<void>> {
  const client = new ServerClient({
    servers: new PgServers(url),
    application_name: 'rasket upgrade',
    connectionTimeoutMillis: CONNECT_MS_MAX,
  });
  // If the turn is lost with its connection, the cost is a second backup; migrations exclude each other by themselves.
  client.on('error', ignoreEnd);
  await client.connect();
  try {
    await endWhenGone(client);
    // Sent as one message, because the time limit of a transaction starts at its beginning.
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
 * Keeps a session of this name open, independent of all other work of the process; returns the function that ends it.
 * It is in a transaction that reads nothing, because a pooler in transaction mode lends the session to others between
 * two transactions.
 */
export async function openPgPresence(url: string, name: string): Promise<() => Promise<void>> {
  const client = new ServerClient({
    servers: new PgServers(url),
    application_name: name,
    connectionTimeoutMillis: CONNECT_MS_MAX,
  });
  // A lost session is not reopened: others then consider the process gone.
  client.on('error', ignoreEnd);
  try {
    await client.connect();
    await endWhenGone(client);
    // Sent as one message, because the time limit of a transaction starts at its beginning.
    await client.query(`begin; ${withoutTimeouts({ inTransaction: true })}`);
  } catch (error) {
    await client.end().catch(ignoreEnd);
    throw error;
  }
  return () => client.end().catch(ignoreEnd);
}
