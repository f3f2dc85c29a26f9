import type { Executor } from '../../platform/db/index.ts';

/** State of a subscription, in our own terms. */
export type SubscriptionStatus = 'active' | 'past_due' | 'canceled';

export interface SubscriptionRow {
  status: SubscriptionStatus;
  current_period_start: number;
  current_period_end: number;
}

export async function findSubscription(db: Executor, teamId: string): Promise<SubscriptionRow | undefined> {
  const sql = `select status, current_period_start, current_period_end from team_subscriptions
    where team_id = ? and status is not null`;
  const row = await db.get<SubscriptionRow>(sql, [teamId]);
  if (!row) return undefined;
  return {
    status: row.status,
    current_period_start: Number(row.current_period_start),
    current_period_end: Number(row.current_period_end),
  };
}

/** Counts the start of a query to the provider; returns its number. */
export async function countQuestion(db: Executor, teamId: string, at: number): Promise<number> {
  const sql = `insert into team_subscriptions (team_id, asked, answered, asked_at) values (?, 1, 0, ?)
    on conflict (team_id) do update set asked = team_subscriptions.asked + 1, asked_at = excluded.asked_at returning asked`;
  return Number((await db.get<{ asked: number }>(sql, [teamId, at]))?.asked);
}

/** Returns teams whose period ended before a moment and whose state was not queried since, earliest end first. */
export async function overdueSubscriptions(db: Executor, before: number, limit: number): Promise<string[]> {
  const sql = `select team_id from team_subscriptions
    where current_period_end <= ? and status <> 'canceled' and (asked_at is null or asked_at <= ?)
    order by current_period_end limit ?`;
  return (await db.all<{ team_id: string }>(sql, [before, before, limit])).map((row) => row.team_id);
}

/**
 * Records whether events are missing: null if an event has arrived, or the time since when a change is known that no
 * event reported; an earlier time is kept.
 */
export async function noteMissed(tx: Executor, teamId: string, since: number | null): Promise<void> {
  const value = since === null ? 'null' : 'coalesce(missed_since, ?)';
  const values = since === null ? [teamId] : [since, teamId];
  await tx.run(`update team_subscriptions set missed_since = ${value} where team_id = ?`, values);
}

/** Writes the result of a query, unless the result of a later query is written already. */
export async function writeAnswer(
  tx: Executor,
  teamId: string,
  { question, row }: { question: number; row: SubscriptionRow },
): Promise<boolean> {
  const sql = `update team_subscriptions
    set status = ?, current_period_start = ?, current_period_end = ?, answered = ?
    where team_id = ? and answered < ?`;
  const values = [row.status, row.current_period_start, row.current_period_end, question, teamId, question];
  return (await tx.run(sql, values)) === 1;
}

interface PaymentEvent {
  provider: string;
  eventId: string;
  teamId: string | null;
}

/** Stores an event; returns whether it was processed already. */
export async function noteEvent(
  db: Executor,
  { provider, eventId, teamId }: PaymentEvent,
  receivedAt: number,
): Promise<{ isRead: boolean }> {
  const sql = `insert into payment_events (provider, event_id, team_id, received_at) values (?, ?, ?, ?)
    on conflict (provider, event_id) do update set received_at = payment_events.received_at returning read_at`;
  const row = await db.get<{ read_at: number | null }>(sql, [provider, eventId, teamId, receivedAt]);
  return { isRead: (row?.read_at ?? null) !== null };
}

export const markEventRead = (db: Executor, { provider, eventId }: PaymentEvent, at: number): Promise<number> =>
  db.run('update payment_events set read_at = ? where provider = ? and event_id = ?', [at, provider, eventId]);

export const removeEventsBefore = (db: Executor, before: number): Promise<number> =>
  db.run('delete from payment_events where received_at < ?', [before]);
