import { setTimeout as pause } from 'node:timers/promises';
import { stopwatch } from '../../src/platform/clock/index.ts';
import type { Config } from '../../src/platform/config/index.ts';
import { isDatabaseGone, openDb, ping } from '../../src/platform/db/index.ts';
import type { Log } from '../../src/platform/log/index.ts';
import { explain } from '../explain.ts';

const TRY_MS = 1000;
/** Between two lines of the log that say so. */
const SAY_MS = 30_000;

/** A database server may start later than this machine. What is wrong otherwise, such as a password, is told at once. */
export async function waitForDatabase({ database }: Config, log: Log): Promise<void> {
  const waitMs = database.wait_seconds * 1000;
  if (database.driver !== 'pg' || waitMs === 0) return;
  const elapsedMs = stopwatch();
  let sayAtMs = 0;
  for (;;) {
    try {
      await askOnce(database.url);
      return;
    } catch (error) {
      if (!isDatabaseGone(error) || elapsedMs() + TRY_MS > waitMs) throw error;
      if (elapsedMs() >= sayAtMs) {
        sayAtMs = elapsedMs() + SAY_MS;
        log.warn({ reason: explain(error)[0], waitSeconds: database.wait_seconds }, 'waiting for PostgreSQL');
      }
      await pause(TRY_MS);
    }
  }
}

async function askOnce(url: string): Promise<void> {
  const db = await openDb({ driver: 'pg', url, file: '', poolMax: 1 });
  try {
    await ping(db);
  } finally {
    await db.close();
  }
}
