import pg from 'pg';
import { pgAddress } from './pg-address.ts';
import { endWhenGone } from './pg-session.ts';

const CONNECT_MS_MAX = 10_000;

/** Keeps a session of this name open, whatever else the process does; answers what ends it. */
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
  } catch (error) {
    await client.end().catch(ignore);
    throw error;
  }
  return () => client.end().catch(ignore);
}

function ignore(): void {}
