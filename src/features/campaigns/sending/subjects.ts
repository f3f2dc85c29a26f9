import type { World } from '../../../platform/world/index.ts';
import { variantCounts } from '../broadcast-recipients/index.ts';
import {
  abTestOf,
  decide,
  decisionOf,
  saveDecision,
  subjectsOf,
  variantFor,
  waitForDecision,
  type BroadcastRow,
} from '../broadcasts/index.ts';

const MINUTE_MS = 60_000;

/**
 * A broadcast that tries its subjects goes through its segment twice: first to a share of it, chosen by address, evenly among
 * the subjects; then to the rest, with the one that was clicked by most. Answers the subject of an address, undefined for who
 * is not due yet.
 */
export function subjectFor(broadcast: BroadcastRow): (emailKey: string) => number | undefined {
  const test = abTestOf(broadcast);
  if (!test) return () => 0;
  const decision = decisionOf(broadcast);
  return decision ? () => decision.winner : (emailKey) => variantFor(broadcast.id, emailKey, test);
}

/** Whether it tries its subjects at the moment. */
export const isTesting = (broadcast: BroadcastRow): boolean =>
  broadcast.ab_test !== null && broadcast.ab_decision === null;

/** The test is out; it goes on when there was time to click. */
export async function endTest({ db, clock }: World, broadcast: BroadcastRow, owner: string): Promise<void> {
  const decidesAt = clock.now() + (abTestOf(broadcast)?.wait_minutes ?? 0) * MINUTE_MS;
  await db.tx((tx) => waitForDecision(tx, { id: broadcast.id, owner, decidesAt }));
}

/** Written once, with what it was decided by: what is clicked after it changes nothing. Undefined where it was canceled. */
export function decideSubject(
  { db }: World,
  broadcast: BroadcastRow,
  owner: string,
): Promise<BroadcastRow | undefined> {
  return db.tx(async (tx) => {
    const counts = await variantCounts(tx, broadcast.id, subjectsOf(broadcast).length);
    const decision = JSON.stringify(decide(counts));
    const isSaved = await saveDecision(tx, { id: broadcast.id, owner, decision });
    return isSaved ? { ...broadcast, ab_decision: decision, next_at: null } : undefined;
  });
}
