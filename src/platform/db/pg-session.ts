import type pg from 'pg';
import { withoutTimeouts } from './pg-timeouts.ts';

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
