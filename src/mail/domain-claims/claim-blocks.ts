import type { Executor } from '../../platform/db/index.ts';
import type { DomainRow } from '../domains/index.ts';
import {
  hasScheduledMail,
  hasSentAfterQuarter,
  hasSentInQuarterAfter,
  hasWaitingMail,
} from './owner-activity.store.ts';

export type BlockedReason = 'grace_period' | 'recent_owner_activity' | 'pending_scheduled_emails';

const HOUR_MS = 3_600_000;
/** A name that has just been claimed or verified cannot be taken during this time. */
const GRACE_MS = 72 * HOUR_MS;
/** A team that has sent from it within this time still uses it. */
const QUIET_MS = 24 * HOUR_MS;
/** Longer than any mail waits for its first attempt before it is given up. */
const WAITING_MS = 7 * 24 * HOUR_MS;

interface BlockOptions {
  /**
   * Leaves out the one expensive check: for the repetition, inside the transaction, of checks made a moment ago.
   * Everything that may have happened since then is checked in full.
   */
  isRecheck?: boolean;
}

/** Returns why a name stays with the team that has it; undefined if it can be claimed. */
export async function findBlock(
  db: Executor,
  owner: DomainRow,
  now: number,
  { isRecheck = false }: BlockOptions = {},
): Promise<BlockedReason | undefined> {
  if (now - (owner.verified_at ?? owner.held_at ?? 0) < GRACE_MS) return 'grace_period';
  const since = now - QUIET_MS;
  if (await hasSentAfterQuarter(db, owner, since)) return 'recent_owner_activity';
  if (!isRecheck && (await hasSentInQuarterAfter(db, owner, since))) return 'recent_owner_activity';
  // Accepted and not sent yet: it would be lost.
  if (await hasWaitingMail(db, owner, now - WAITING_MS)) return 'recent_owner_activity';
  return (await hasScheduledMail(db, owner)) ? 'pending_scheduled_emails' : undefined;
}
