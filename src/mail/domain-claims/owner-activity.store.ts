import { domainScope, QUARTER_MINUTES } from '../events/index.ts';
import type { Executor, Value } from '../../platform/db/index.ts';
import { firstIdAt } from '../../platform/ids.ts';

export interface Owner {
  id: string;
  team_id: string;
}

const SLOT_MS = QUARTER_MINUTES * 60_000;
/** An event is recorded a little later than it happens. */
const RECORDED_WITHIN_MS = 60_000;

/**
 * Prevents that mail is accepted or claimed for delivery until the transaction ends, a few milliseconds later, so that
 * its view of the owner's mail stays true. SQLite has one writer anyway.
 */
export async function lockMail(tx: Executor): Promise<void> {
  if (tx.dialect === 'pg') await tx.run('lock table emails in share mode');
}

/** Reports whether a first attempt to send was made in the quarter hours after the one that contains `since`. */
export const hasSentAfterQuarter = (db: Executor, owner: Owner, since: number): Promise<boolean> =>
  hasCounted(db, owner, 'sent', Math.floor(since / SLOT_MS) + 1);

/**
 * Reports the same for the remainder of that one quarter. If the sums do not rule a send out, reads its events: 15
 * minutes of the installation's events at the most.
 */
export async function hasSentInQuarterAfter(db: Executor, owner: Owner, since: number): Promise<boolean> {
  const slot = Math.floor(since / SLOT_MS);
  if (!(await hasCounted(db, owner, 'sent', slot, slot))) return false;
  const until = (slot + 1) * SLOT_MS;
  // Other events have subjects that are not the id of an email, which PostgreSQL would refuse to compare.
  const email = db.dialect === 'pg' ? `(case when e.type = 'email.sent' then e.subject_id end)::uuid` : 'e.subject_id';
  return exists(
    db,
    `select 1 as found from events e join emails m on m.id = ${email}
      where e.id >= ? and e.id < ? and e.type = 'email.sent' and e.created_at > ? and m.domain_id = ? limit 1`,
    [firstIdAt(since), firstIdAt(until + RECORDED_WITHIN_MS), since, owner.id],
  );
}

/** Reports whether mail was accepted since and not tried yet; the team's queue is searched only if there is some. */
export async function hasWaitingMail(db: Executor, owner: Owner, acceptedSince: number): Promise<boolean> {
  if (!(await hasCounted(db, owner, 'received', Math.floor(acceptedSince / SLOT_MS)))) return false;
  return exists(
    db,
    `select 1 as found from emails where team_id = ? and last_event = 'queued' and domain_id = ? limit 1`,
    [owner.team_id, owner.id],
  );
}

export const hasScheduledMail = (db: Executor, owner: Owner): Promise<boolean> =>
  exists(db, `select 1 as found from emails where domain_id = ? and last_event = 'scheduled' limit 1`, [owner.id]);

function hasCounted(
  db: Executor,
  owner: Owner,
  counter: 'sent' | 'received',
  fromSlot: number,
  toSlot = 2 ** 31 - 1,
): Promise<boolean> {
  return exists(
    db,
    `select 1 as found from metric_counts where team_id = ? and scope = ? and span_minutes = ?
      and slot between ? and ? and ${counter} > 0 limit 1`,
    [owner.team_id, domainScope(owner.id), QUARTER_MINUTES, fromSlot, toSlot],
  );
}

async function exists(db: Executor, sql: string, values: Value[]): Promise<boolean> {
  return (await db.get(sql, values)) !== undefined;
}
