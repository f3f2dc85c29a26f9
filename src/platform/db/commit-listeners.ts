export interface CommitListeners {
  add(table: string, fire: () => void): () => void;
  tell(tables: Iterable<string>): void;
}

/** Who wants to know that a table was written to. A listener only takes note: what it does waits for a later turn. */
export function createCommitListeners(): CommitListeners {
  const byTable = new Map<string, Set<() => void>>();
  return {
    add(table, fire) {
      let listeners = byTable.get(table);
      if (!listeners) byTable.set(table, (listeners = new Set()));
      listeners.add(fire);
      return () => void listeners.delete(fire);
    },
    tell(tables) {
      if (byTable.size === 0) return;
      for (const table of tables) for (const fire of byTable.get(table) ?? []) fire();
    },
  };
}
