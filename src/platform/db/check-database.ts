import { startThread } from '../../program-files/index.ts';
import { systemClock, stopwatch } from '../clock/index.ts';
import { isDatabaseDamage } from './faults.ts';
import type { Db } from './types.ts';

/** What a check of the stored data has found. */
export interface DatabaseCheck {
  tables: number;
  /** As many tables as the time was enough for. */
  checked: number;
  /** Each begins with the name of its table. */
  faults: string[];
}

export interface CheckOptions {
  /** The SQLite file; unused with PostgreSQL. */
  file: string;
  /** Compares every index with its table as well, which takes several times as long. */
  isFull: boolean;
  budgetMs: number;
  /** A number from 0 up to 1: where among the tables it begins, so that a short budget reaches each of them some day. */
  from: number;
  signal: AbortSignal;
}

/** What the thread is told, and what it answers. */
export type CheckOrder = Pick<CheckOptions, 'file' | 'isFull' | 'from'>;
export type CheckStep =
  | { kind: 'begun'; tables: number; faults: string[] }
  | { kind: 'checked'; faults: string[] }
  | { kind: 'done' };

/** Reads all that is stored and reports what is not as it was written. Blocks neither this thread nor a writer. */
export const checkDatabase = (db: Db, options: CheckOptions): Promise<DatabaseCheck> =>
  db.dialect === 'pg' ? checkPg(db, options) : checkSqlite(options);

/** SQLite blocks the thread that reads, so another one does. It ends a table that it has begun before it can be stopped. */
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

/** Below the time that a statement of this process may take. */
const PG_TABLE_MS_MAX = 50_000;
const PG_CANCELED = '57014';

/** PostgreSQL verifies the pages that it reads, by their checksums where the cluster has them. Indexes are not read. */
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
