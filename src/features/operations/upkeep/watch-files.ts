import { repeat, systemClock } from '../../../platform/clock/index.ts';
import { DatabaseFileLost, putBack, rescueName } from '../../../platform/db/index.ts';
import { findingOf } from '../findings/index.ts';
import type { DatabaseWatch, Tell, Watched } from './database-watch.ts';

const POLL_MS = 1000;
/** A rename to and fro is over by then. */
const POLLS_LOST = 2;

/**
 * An SQLite file that is deleted, renamed or replaced beside a server goes on as what the connections hold, and is gone with the process:
 * everything that was accepted since, and before. Such a server accepts and sends no more, writes what it holds beside the place of the
 * file, and stops. Where that cannot be written it stays, because nothing else has it, and tries again.
 */
export function watchFiles({ db, clock, log }: Watched, file: string, tell: Tell): DatabaseWatch {
  const gone = Promise.withResolvers<Error>();
  let polls = 0;
  let found: { summary: string; since: number } | undefined;
  let rescued: string | undefined;

  const findings = () => (found ? [findingOf('storage_unwritable', { ...found, summary: `${found.summary}.` })] : []);

  async function look(pollsLost: number): Promise<void> {
    if (rescued !== undefined) return;
    if (found) return rescue(found);
    // A disk that does not answer says nothing of the file.
    const lost = await db.lostFile().catch(() => undefined);
    polls = lost === undefined ? 0 : polls + 1;
    if (lost === undefined || polls < pollsLost) return;
    found = { summary: `${lost} beside this server, which takes and sends nothing any more`, since: clock.now() };
    log.fatal(found.summary);
    await rescue(found);
  }

  async function rescue({ summary, since }: { summary: string; since: number }): Promise<void> {
    const copy = rescueName(file, since);
    try {
      await db.abandonInto(copy);
    } catch (error) {
      const says = `${summary}; all that it held is in this process alone, and cannot be written to ${copy}: make that possible, and do not end the process`;
      log.fatal({ err: error }, says);
      return;
    }
    rescued = copy;
    const says = `${summary}; all that it held is in ${copy}: put that in its place (${putBack(file, copy)}) and start the server again`;
    found = { summary: says, since };
    log.fatal(says);
    const [finding] = findings();
    if (finding)
      await tell(finding, copy).catch((error: unknown) =>
        log.error({ err: error }, 'could not tell that the database file was lost'),
      );
    gone.resolve(new DatabaseFileLost(says));
  }

  let looking = look(POLLS_LOST);
  const endPolls = repeat(systemClock, POLL_MS, () => (looking = look(POLLS_LOST)));
  return {
    gone: gone.promise,
    findings,
    check: () => (found ? Promise.reject(new DatabaseFileLost(found.summary)) : Promise.resolve()),
    async stop() {
      endPolls();
      await looking;
      // The file may have gone a moment ago, and nothing holds what was in it once the connections are closed.
      await look(1);
    },
  };
}
