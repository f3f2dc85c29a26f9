import type { Executor, Value } from '../../platform/db/index.ts';

/** Refusals are kept for this long after the latest event. */
export const REFUSALS_KEPT_MS = 30 * 86_400_000;

/**
 * The reason why an event started no run: the automation was disabled, the contact has a run in progress or has entered
 * before, a limit of runs that start each other was exceeded, or the payload did not match the schema of the event.
 */
export type RefusalReason = 'disabled' | 'in_progress' | 'entered_before' | 'limit' | 'payload';

export interface Refused {
  automationId: string;
  contactId: string;
  reason: RefusalReason;
  at: number;
  /** Describes what was wrong, if the reason alone does not. */
  detail?: string;
}

const KEY = ['automation_id', 'contact_id', 'reason'] as const;
const COLUMNS = [...KEY, 'detail', 'times', 'first_at', 'last_at'] as const;

/**
 * Counts refusals. A contact has one row for each automation and reason, however often an event comes. Rows are written
 * in the order of their keys, so that two transactions do not wait for each other.
 */
export async function recordRefusals(tx: Executor, refused: readonly Refused[]): Promise<void> {
  if (refused.length === 0) return;
  const groups = Map.groupBy(refused, (one) => `${one.automationId} ${one.contactId} ${one.reason}`);
  const rows = [...groups].sort(([a], [b]) => (a < b ? -1 : 1)).flatMap(([, group]) => toRow(group));
  const conflict = `on conflict (${KEY.join(', ')}) do update set times = automation_refusals.times + excluded.times,
    last_at = excluded.last_at, detail = excluded.detail`;
  await tx.insertMany('automation_refusals', COLUMNS, rows, conflict);
}

function toRow(group: readonly Refused[]): Value[][] {
  const times = group.map(({ at }) => at);
  return group
    .slice(-1)
    .map(({ automationId, contactId, reason, detail = null }) => [
      automationId,
      contactId,
      reason,
      detail,
      group.length,
      Math.min(...times),
      Math.max(...times),
    ]);
}

export interface RefusalRow {
  reason: RefusalReason;
  detail: string | null;
  times: number;
  first_at: number;
  last_at: number;
}

/** Returns the refusals of a contact by an automation, the latest first. */
export function listRefusals(
  db: Executor,
  { automationId, contactId }: { automationId: string; contactId: string },
): Promise<RefusalRow[]> {
  const sql = `select reason, detail, times, first_at, last_at from automation_refusals
    where automation_id = ? and contact_id = ? order by last_at desc, reason`;
  return db.all<RefusalRow>(sql, [automationId, contactId]);
}

/** Deletes the refusals of a contact that is erased. */
export const eraseRefusals = (tx: Executor, contactId: string): Promise<number> =>
  tx.run('delete from automation_refusals where contact_id = ?', [contactId]);

/** Deletes the refusals of an automation that is deleted. */
export async function forgetRefusals(tx: Executor, automationId: string): Promise<void> {
  await tx.run('delete from automation_refusals where automation_id = ?', [automationId]);
}

/** Deletes refusals that are no longer kept, at most `limit`; returns how many. */
export function removeOldRefusals(db: Executor, now: number, limit: number): Promise<number> {
  const sql = `delete from automation_refusals where (${KEY.join(', ')}) in (select ${KEY.join(', ')} from automation_refusals
    where last_at <= ? order by last_at limit ?)`;
  return db.run(sql, [now - REFUSALS_KEPT_MS, limit]);
}
