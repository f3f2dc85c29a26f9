import pg from 'pg';
import { pgAddress } from './pg-address.ts';
import { endWhenGone } from './pg-session.ts';
import { withoutTimeouts } from './pg-timeouts.ts';

/** Any number that no other program takes: the name of our lock among the advisory locks of a database. */
const LOCK = 7_264_015_552;
const CONNECT_MS_MAX = 10_000;

/**
 * Waits until no other process has the turn, and answers how it ends. On a connection of its own, in a transaction that reads nothing,
 * so that no other transaction waits for it. A process that dies lets go of it.
 */
export async function openPgTurn(url: string, onWait: () => void): Promise<() => Promise<void>> {
  const client = new pg.Client({
    ...{ connectionString: pgAddress(url), application_name: 'rasket upgrade', keepAlive: true },
    connectionTimeoutMillis: CONNECT_MS_MAX,
  });
  // A turn that is lost with its connection costs a second backup; migrations lock one another out themselves.
  client.on('error', ignore);
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
    return () => client.end().catch(ignore);
  } catch (error) {
    await client.end().catch(ignore);
    throw error;
  }
}

function ignore(): void {}
