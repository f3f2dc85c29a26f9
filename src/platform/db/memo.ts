import type { Db } from './db.ts';
import { BoundedMap } from '../limits/index.ts';

/** Counts the writes to each table, so that what was read can be remembered until the next write there. */
interface TableVersions {
  /** A number that changes with every committed write to any of the tables. */
  of(tables: readonly string[]): number;
  committed(tables: Iterable<string>): void;
  /** Another process has written to the database; to which tables is not known. */
  changedOutside(): void;
}

export function createTableVersions(): TableVersions {
  const versions = new Map<string, number>();
  let outside = 0;
  return {
    of: (tables) => tables.reduce((sum, table) => sum + (versions.get(table) ?? 0), outside),
    committed(tables) {
      for (const table of tables) versions.set(table, (versions.get(table) ?? 0) + 1);
    },
    changedOutside() {
      outside++;
    },
  };
}

const ENTRIES_MAX = 10_000;

/**
 * Remembers what was found, never that nothing was: unknown names are endless. While there is no version, nothing is
 * remembered.
 */
export function memoOver<T>(
  version: () => number | undefined | Promise<number | undefined>,
  load: (key: string) => Promise<T>,
): (key: string) => Promise<T> {
  const entries = new BoundedMap<string, { version: number; value: T }>(ENTRIES_MAX);
  return async (key) => {
    const asked = version();
    const now = asked instanceof Promise ? await asked : asked;
    const entry = entries.get(key);
    if (entry && entry.version === now) return entry.value;
    const value = await load(key);
    if (value === undefined || now === undefined) return value;
    entries.set(key, { version: now, value });
    return value;
  };
}

/**
 * For a write to columns that no memo holds and no `onCommit` listener waits for, such as leases and progress: its commit calls
 * no listener and invalidates no memo. `tableWrittenBy` finds the table at the beginning of a statement alone, and here a comment
 * stands in front of it.
 */
export const withoutCommitNotice = (sql: string): string => `/* without commit notice */ ${sql}`;

const WRITES_TO = /^\s*(?:insert\s+into|update|delete\s+from)\s+(\w+)/i;

/** Whether a statement writes, also where it answers the rows that it has written (`returning`). */
export const writesRows = (sql: string): boolean => WRITES.test(sql);

const WRITES = /^\s*(?:\/\*[^*]*\*\/\s*)?(?:insert|update|delete)\b/i;

/** The table a statement writes to; undefined for one that is `withoutCommitNotice`. */
export const tableWrittenBy = (sql: string): string | undefined => WRITES_TO.exec(sql)?.[1];

interface CommitListeners {
  add(table: string, fire: () => void): () => void;
  tell(tables: Iterable<string>): void;
  /** Anything may have been written. */
  tellAll(): void;
  /** The tables that somebody listens to. */
  tables(): Iterable<string>;
}

/** Who wants to know that a table was written to. A listener only takes note: what it does waits for a later turn. */
export function createCommitListeners(onMore: () => void = ignore): CommitListeners {
  const byTable = new Map<string, Set<() => void>>();
  return {
    add(table, fire) {
      let listeners = byTable.get(table);
      if (!listeners) {
        byTable.set(table, (listeners = new Set()));
        onMore();
      }
      listeners.add(fire);
      return () => void listeners.delete(fire);
    },
    tell(tables) {
      if (byTable.size === 0) return;
      for (const table of tables) for (const fire of byTable.get(table) ?? []) fire();
    },
    tellAll() {
      for (const listeners of byTable.values()) for (const fire of listeners) fire();
    },
    tables: () => byTable.keys(),
  };
}

function ignore(): void {}

/** SQLite bears one process that serves. */
export const WITHOUT_OTHERS: Pick<Db, 'announce' | 'onAnnounced' | 'hear'> = {
  announce: ignore,
  onAnnounced: () => ignore,
  hear: () => ({ deafSince: () => undefined, close: async () => undefined }),
};
