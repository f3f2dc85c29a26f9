import type { Executor } from '../../../platform/db/index.ts';

export interface PaymentEvent {
  provider: string;
  eventId: string;
  teamId: string | null;
}

/** Keeps an event that has come; answers whether what it was about is known already. */
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
