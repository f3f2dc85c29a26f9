import pg from 'pg';
import type { App } from '../../src/app.ts';
import { driver } from './database.ts';

/** Less than the limits of tests and hooks, which report only that something took too long. */
const HANGS_MS = 45_000;
const LOG_LINES = 20;

/** Reports what the scene is doing when work takes so long that it may hang, and keeps waiting. */
export async function sayWhenHanging<T>(
  what: string,
  work: Promise<T>,
  { app, log, databaseUrl }: { app: App; log: readonly string[]; databaseUrl: string },
): Promise<T> {
  const timer = setTimeout(() => {
    const said = [
      `${what}: not after ${HANGS_MS} ms; ${app.queue?.inFlight() ?? 0} deliveries under way`,
      ...log.slice(-LOG_LINES),
    ];
    console.error(said.join('\n'));
    if (driver === 'pg') void connectionsTo(databaseUrl).then(console.error, console.error);
  }, HANGS_MS);
  try {
    return await work;
  } finally {
    clearTimeout(timer);
  }
}

/** Returns what each connection does or waits for, and whose lock it waits for. */
async function connectionsTo(url: string): Promise<string> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query<Record<string, unknown>>(
      `select pid, state, wait_event_type, wait_event, pg_blocking_pids(pid) as blocked_by,
        extract(epoch from clock_timestamp() - xact_start)::int as in_transaction_s, left(query, 300) as query
      from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`,
    );
    return rows.map((row) => JSON.stringify(row)).join('\n');
  } finally {
    await client.end();
  }
}
