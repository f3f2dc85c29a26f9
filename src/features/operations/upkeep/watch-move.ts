import type { DatabaseWatch, Tell, Watched } from './database-watch.ts';
import { systemClock } from '../../../platform/clock/index.ts';
import { findingOf, type Finding } from '../findings/index.ts';
import {
  DatabaseMoved,
  moveUnderWay,
  readMove,
  saysMoved,
  saysUnderWay,
  type MoveMark,
} from '../../../tenancy/instance/index.ts';

const POLL_MS = 1000;

/**
 * A node that was cut off or suspended while the database was moved learns of it by the first write that is refused. While the move is
 * under way it waits, because the move may still fail; once that has ended, nothing that the node is asked for is acknowledged any more,
 * and it has nothing left to do. `tell` has that heard where the database cannot say it any more.
 */
export function watchMove({ db, clock, log }: Watched, tell: Tell): DatabaseWatch {
  const gone = Promise.withResolvers<Error>();
  let found: { summary: string; since: number } | undefined;
  let following: Promise<void> | undefined;
  let isStopped = false;
  let wake = (): void => undefined;

  function note(summary: string): Finding {
    found = { summary, since: found?.since ?? clock.now() };
    return findingOf('database_moved', { ...found, summary: `${summary}.` });
  }

  async function follow(): Promise<void> {
    let isSaid = false;
    while (!isStopped) {
      const mark = await look().catch(() => 'unknown' as const);
      if (mark === undefined) {
        found = undefined;
        if (isSaid) log.warn('the move of this database has failed or was given up; this node goes on');
        return;
      }
      if (mark !== 'unknown' && mark.state !== 'leaving') return leave(mark);
      if (mark !== 'unknown') note(saysUnderWay(mark));
      if (mark !== 'unknown' && !isSaid) log.error(`${saysUnderWay(mark)}; this node waits`);
      isSaid ||= mark !== 'unknown';
      await new Promise<void>((done) => {
        wake = done;
        systemClock.timer(POLL_MS, done);
      });
    }
  }

  /** The mark of what makes the database refuse writes; undefined once nothing does. */
  const look = async (): Promise<MoveMark | undefined> => (await moveUnderWay(db)) ?? (await readMove(db));

  async function leave(mark: MoveMark): Promise<void> {
    const summary = saysMoved(mark);
    const finding = note(summary);
    log.fatal(summary);
    isStopped = true;
    await tell(finding, `${mark.other} ${mark.at}`).catch((error: unknown) =>
      log.error({ err: error }, 'could not tell that the database was moved'),
    );
    gone.resolve(new DatabaseMoved(summary));
  }

  const stopFencing = db.onFenced(() => {
    if (isStopped || following) return;
    note('this database refuses what is written, because it is being or was moved to another one');
    following = follow().finally(() => (following = undefined));
  });
  return {
    gone: gone.promise,
    findings: () => (found ? [findingOf('database_moved', { ...found, summary: `${found.summary}.` })] : []),
    check: () => (found ? Promise.reject(new Error(found.summary)) : Promise.resolve()),
    async stop() {
      stopFencing();
      isStopped = true;
      wake();
      await following;
    },
  };
}
