import type { Db } from './types.ts';

export interface CommitListeners {
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
