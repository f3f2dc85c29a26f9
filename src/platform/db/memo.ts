import type { Db } from './db.ts';
import { BoundedMap } from '../limits/index.ts';

/** Counts the writes to each table, so that results can be cached until the next write to it. */
interface TableVersions {
  /** Returns a number that changes with every committed write to any of the tables. */
  of(tables: readonly string[]): number;
  committed(tables: Iterable<string>): void;
  /** Another process has written to the database, to unknown tables. */
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
 * Caches results, but never the absence of one, because there is no end of unknown names. While there is no version,
 * nothing is cached.
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
 * Marks a write to columns that no memo holds and no `onCommit` listener waits for, such as leases and progress: its
 * commit calls no listener and invalidates no memo. `tableWrittenBy` only finds the table at the beginning of a
 * statement, and this puts a comment in front of it.
 */
export const withoutCommitNotice = (sql: string): string => `/* without commit notice */ ${sql}`;

const WRITES_TO = /^\s*(?:insert\s+into|update|delete\s+from)\s+(\w+)/i;

/** Reports whether a statement writes, including one that returns the written rows (`returning`). */
export const writesRows = (sql: string): boolean => WRITES.test(sql);

const WRITES = /^\s*(?:\/\*[^*]*\*\/\s*)?(?:insert|update|delete)\b/i;

/** Returns the table that a statement writes to; undefined for one that is `withoutCommitNotice`. */
export const tableWrittenBy = (sql: string): string | undefined => WRITES_TO.exec(sql)?.[1];

interface CommitListeners {
  add(table: string, fire: () => void): () => void;
  notify(tables: Iterable<string>): void;
  /** Notifies all listeners, because any table may have been written. */
  notifyAll(): void;
  /** The tables that have listeners. */
  tables(): Iterable<string>;
}

/** Keeps the listeners of each table. A listener only takes note: its work waits for a later turn of the event loop. */
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
    notify(tables) {
      if (byTable.size === 0) return;
      for (const table of tables) for (const fire of byTable.get(table) ?? []) fire();
    },
    notifyAll() {
      for (const listeners of byTable.values()) for (const fire of listeners) fire();
    },
    tables: () => byTable.keys(),
  };
}

function ignore(): void {}

/** SQLite supports only one serving process. */
export const WITHOUT_OTHERS: Pick<Db, 'announce' | 'onAnnounced' | 'hear'> = {
  announce: ignore,
  onAnnounced: () => ignore,
  hear: () => ({ deafSince: () => undefined, close: async () => undefined }),
};
