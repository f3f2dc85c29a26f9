import { nextTurn, rest, stopwatch } from '../../platform/clock/index.ts';
import type { Executor } from '../../platform/db/index.ts';
import { createTurns, type Turns } from '../../platform/fair-share/index.ts';
import { refuse } from '../../platform/refusal/index.ts';

/** SQLite answers in this thread; of PostgreSQL's connections, most are for what takes no time. */
const AT_ONCE = { sqlite: 1, pg: 2 };
/** What comes faster than it can be answered would wait longer and longer. */
const WAITING_MAX = 20;

const turnsOf = new WeakMap<Executor, Turns>();

function turnsAt(db: Executor): Turns {
  const turns =
    turnsOf.get(db) ??
    createTurns(AT_ONCE[db.dialect], ({ tookMs, isWaiting }) => (isWaiting ? rest(tookMs) : nextTurn()));
  turnsOf.set(db, turns);
  return turns;
}

/** Before a team's reader begins; one that has begun is read to its end. */
export function mayBeginPieces(db: Executor, teamId: string): void {
  if (turnsAt(db).waitingOf(teamId) < WAITING_MAX) return;
  throw refuse('service_unavailable', {
    say: `${WAITING_MAX} requests of your team look for contacts just now; try again when some have been answered.`,
  });
}

/**
 * Reads one piece of an audience, in turns of the teams, and lets whatever else is waiting come before the next one: any
 * number of readers hold up the others no longer than one does, and together take half of the time. Answers how long the
 * piece took as well.
 */
export function takePiece<T>(
  db: Executor,
  teamId: string,
  read: () => Promise<T>,
): Promise<{ answer: T; tookMs: number }> {
  return turnsAt(db).take(teamId, async () => {
    const elapsedMs = stopwatch();
    return { answer: await read(), tookMs: elapsedMs() };
  });
}
