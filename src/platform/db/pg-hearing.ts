import { createCommitListeners } from './commit-listeners.ts';
import { openPgListener, type PgListener } from './pg-listener.ts';
import type { Db } from './types.ts';

export interface PgHearing extends Pick<Db, 'onCommit' | 'announce' | 'onAnnounced' | 'hear'> {
  /** Tells those who listen here, and the other processes. */
  committed(tables: Iterable<string>): void;
  close(): Promise<void>;
}

/** Who listens to commits: those of this process, and once it hears them, of others. */
export function createPgHearing(databaseUrl: string): PgHearing {
  let listener: PgListener | undefined;
  const listeners = createCommitListeners(() => listener?.wantsElse());
  return {
    onCommit: listeners.add,
    onAnnounced: listeners.add,
    announce: (name) => listener?.tell([name]),
    committed(tables) {
      listeners.tell(tables);
      listener?.tell(tables);
    },
    hear({ url, onFault, random }) {
      listener = openPgListener({
        ...{ url: url || databaseUrl, onFault, random },
        wanted: listeners.tables,
        heard: listeners.tell,
        heardAnew: listeners.tellAll,
      });
      return listener;
    },
    close: async () => listener?.close(),
  };
}
