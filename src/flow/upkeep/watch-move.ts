import type { World } from '../../platform/world/index.ts';
import { findingOf, type Finding } from '../../resources/findings/index.ts';
import { whyFenced } from '../../resources/instance/index.ts';

/** Whether the database of this process was moved away beside it. */
export interface MoveWatch {
  /** Resolves with why, once the database refuses what this process writes. */
  gone: Promise<string>;
  findings(): readonly Finding[];
  /** Rejects from then on. */
  check(): Promise<void>;
}

/**
 * A node that was cut off or suspended while the database was moved learns of it by the first write that is refused. Nothing that it was
 * asked for is acknowledged any more, and it has nothing left to do.
 */
export function watchMove({ db, clock, log }: Pick<World, 'db' | 'clock' | 'log'>): MoveWatch {
  const gone = Promise.withResolvers<string>();
  let found: { summary: string; since: number } | undefined;
  async function leave(): Promise<void> {
    const summary = await whyFenced(db);
    found = { summary, since: clock.now() };
    log.fatal(summary);
    gone.resolve(summary);
  }
  db.onFenced(() => void leave());
  return {
    gone: gone.promise,
    findings: () => (found ? [findingOf('database_moved', { ...found, summary: `${found.summary}.` })] : []),
    check: () => (found ? Promise.reject(new Error(found.summary)) : Promise.resolve()),
  };
}
