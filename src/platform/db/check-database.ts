import { startThread } from '../../program-files/index.ts';
import { systemClock, stopwatch } from '../clock.ts';
import { isDatabaseDamage } from './faults.ts';
import type { Db } from './db.ts';

/** The result of a check of the stored data. */
export interface DatabaseCheck {
  tables: number;
  /** Number of tables that were checked within the time limit. */
  checked: number;
  /** Each fault begins with the name of its table. */
  faults: string[];
}

export interface CheckOptions {
  /** The SQLite file; unused with PostgreSQL. */
  file: string;
  /** Also compares every index with its table, which takes several times as long. */
  isFull: boolean;
  budgetMs: number;
  /** A number from 0 up to 1 that selects the table to start with, so that short checks reach every table in time. */
  from: number;
  signal: AbortSignal;
}

/** The message that starts the thread, and the messages that it returns. */
export type CheckOrder = Pick<CheckOptions, 'file' | 'isFull' | 'from'>;
export type CheckStep =
  | { kind: 'begun'; tables: number; faults: string[] }
  | { kind: 'checked'; faults: string[] }
  | { kind: 'done' };

/** Reads all stored data and reports damage. Blocks neither this thread nor a writer. */
export const checkDatabase = (db: Db, options: CheckOptions): Promise<DatabaseCheck> =>
  db.dialect === 'pg' ? checkPg(db, options) : checkSqlite(options);

/**
 * Checks in another thread, because SQLite blocks the thread that reads. The thread finishes the table in progress
 * before it can be stopped.
 */
async function checkSqlite({ file, isFull, from, budgetMs, signal }: CheckOptions): Promise<DatabaseCheck> {
  const found: DatabaseCheck = { tables: 0, checked: 0, faults: [] };
  const order: CheckOrder = { file, isFull, from };
  const thread = startThread('src/platform/db/check-thread.ts', { workerData: order });
  const ended = Promise.withResolvers<void>();
  const cancelBudget = systemClock.timer(budgetMs, ended.resolve);
  const stop = (): void => ended.resolve();
  signal.addEventListener('abort', stop);
  if (signal.aborted) stop();
  thread.on('message', (step: CheckStep) => {
    if (step.kind === 'done') return ended.resolve();
    found.faults.push(...step.faults);
    if (step.kind === 'begun') found.tables = step.tables;
    else found.checked += 1;
  });
  thread.once('error', ended.reject);
  thread.once('exit', stop);
  try {
    await ended.promise;
  } finally {
    cancelBudget();
    signal.removeEventListener('abort', stop);
    await thread.terminate();
  }
  return found;
}

/** Shorter than the timeout of a statement of this process. */
const PG_TABLE_MS_MAX = 50_000;
const PG_CANCELED = '57014';

/** Reads every table, so that PostgreSQL verifies the checksums if the cluster has them. Indexes are not read. */
async function checkPg(db: Db, { budgetMs, from, signal }: CheckOptions): Promise<DatabaseCheck> {
  const rows = await db.all<{ name: string }>(
    `select relname as name from pg_class where relkind = 'r' and relnamespace = current_schema()::regnamespace order by relname`,
  );
  const first = Math.floor(from * rows.length);
  const found: DatabaseCheck = { tables: rows.length, checked: 0, faults: [] };
  const elapsedMs = stopwatch();
  for (const { name } of [...rows.slice(first), ...rows.slice(0, first)]) {
    const leftMs = Math.min(PG_TABLE_MS_MAX, Math.floor(budgetMs - elapsedMs()));
    if (leftMs <= 0 || signal.aborted) break;
    try {
      await readTable(db, name, leftMs);
      found.checked += 1;
    } catch (error) {
      if (isDatabaseDamage(error)) found.faults.push(`${name}: ${(error as Error).message}`);
      else if ((error as { code?: unknown }).code !== PG_CANCELED) throw error;
    }
  }
  return found;
}

const readTable = (db: Db, name: string, msMax: number): Promise<void> =>
  db.tx(async (tx) => {
    await tx.run(`set local statement_timeout = ${msMax}`);
    for (const scan of ['indexscan', 'indexonlyscan', 'bitmapscan']) await tx.run(`set local enable_${scan} = off`);
    await tx.get(`select count(*) as n from "${name}"`);
  });
