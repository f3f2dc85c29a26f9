import { isUndefinedTable } from './faults.ts';
import { batchConcurrentCalls } from './group-commit.ts';
import { memoOver } from './memo.ts';
import type { Db, Executor } from './db.ts';

/**
 * A memo for PostgreSQL, where other nodes write too. Each transaction that changes a table changes its number in
 * `table_changes` in the same transaction (by triggers of migrations/0001_schema.ts). The numbers are read before any
 * cached result is used, in one statement for all concurrent callers, so every look-up that begins after a commit sees
 * its changes.
 */
export function createPgMemo(db: Pick<Executor, 'all'>): Db['memo'] {
  const versions = batchConcurrentCalls<void, ReadonlyMap<string, number>>(async (askers) => {
    const read = await readVersions(db);
    return askers.map(() => read);
  });
  return (tables, load) =>
    memoOver(async () => {
      const known = await versions();
      // Results that depend on a table without a number are not cached.
      return tables.reduce<number | undefined>((sum, table) => plus(sum, known.get(table)), 0);
    }, load);
}

const plus = (sum: number | undefined, version: number | undefined): number | undefined =>
  sum === undefined || version === undefined ? undefined : sum + version;

async function readVersions(db: Pick<Executor, 'all'>): Promise<ReadonlyMap<string, number>> {
  try {
    const rows = await db.all<{ table_name: string; version: number }>(
      'select table_name, sum(version)::bigint as version from table_changes group by table_name',
    );
    return new Map(rows.map(({ table_name: name, version }) => [name, version]));
  } catch (error) {
    // The database is not migrated yet.
    if (isUndefinedTable(error)) return new Map();
    throw error;
  }
}
