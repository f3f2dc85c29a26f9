import pg from 'pg';
import { pgAddress } from './pg-address.ts';
import { endWhenGone } from './pg-session.ts';
import { withoutTimeouts } from './pg-timeouts.ts';

const CONNECT_MS_MAX = 10_000;

/**
 * Keeps a session of this name open, whatever else the process does; answers what ends it. In a transaction that reads nothing, because a
 * pooler in transaction mode lends the session to others between two of them.
 */
export async function openPgPresence(url: string, name: string): Promise<() => Promise<void>> {
  const client = new pg.Client({
    ...{ connectionString: pgAddress(url), application_name: name, keepAlive: true },
    connectionTimeoutMillis: CONNECT_MS_MAX,
  });
  // One that is lost is lost: whoever looks for it takes the process for gone.
  client.on('error', ignore);
  try {
    await client.connect();
    await endWhenGone(client);
    // In one message: the time of a transaction is limited from its beginning on.
    await client.query(`begin; ${withoutTimeouts({ inTransaction: true })}`);
  } catch (error) {
    await client.end().catch(ignore);
    throw error;
  }
  return () => client.end().catch(ignore);
}

function ignore(): void {}
