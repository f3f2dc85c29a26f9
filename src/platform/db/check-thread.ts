/** Checks an SQLite file table by table on a connection of its own; may be terminated at any time (`check-database.ts`). */
import { parentPort, workerData } from 'node:worker_threads';
import Sqlite from 'better-sqlite3';
import type { CheckOrder, CheckStep } from './check-database.ts';
import { isDatabaseDamage } from './faults.ts';

const { file, isFull, from } = workerData as CheckOrder;
/** Number of lines per table; the first one says enough. */
const LINES_MAX = 3;

const post = (step: CheckStep): void => parentPort?.postMessage(step);

/** Returns the faults of a table: SQLite returns most of them as lines, and throws if it cannot continue. */
function faultsIn(work: () => string[]): string[] {
  try {
    return work();
  } catch (error) {
    if (!isDatabaseDamage(error)) throw error;
    return [error instanceof Error ? error.message : String(error)];
  }
}

const db = new Sqlite(file, { readonly: true, fileMustExist: true });
let tables: string[] = [];
const ofSchema = faultsIn(() => {
  const sql = "select name from sqlite_master where type = 'table' and rootpage > 0 order by name";
  tables = db.prepare<[], string>(sql).pluck().all();
  return [];
});
post({ kind: 'begun', tables: tables.length, faults: ofSchema });
const first = Math.floor(from * tables.length);
for (const table of [...tables.slice(first), ...tables.slice(0, first)]) {
  const check = isFull ? 'integrity_check' : 'quick_check';
  const faults = faultsIn(() =>
    (db.pragma(`${check}("${table}")`) as Record<string, string>[])
      .map((row) => row[check] ?? '')
      .filter((line) => line !== 'ok')
      .slice(0, LINES_MAX),
  );
  post({ kind: 'checked', faults: faults.map((line) => `${table}: ${line}`) });
}
db.close();
post({ kind: 'done' });
