import { uuidsIn, type Executor } from '../../platform/db/index.ts';
import type { Click } from './engagement.ts';

interface ClickRow {
  id: string;
  email_id: string;
  clicked_at: number;
  link: string;
  ip_address: string;
  user_agent: string;
}

const COLUMNS = ['id', 'email_id', 'clicked_at', 'link', 'ip_address', 'user_agent'] as const;

/** Keeps clicks until they can be judged; answers nothing for those that wait already. */
export async function keepClicks(tx: Executor, clicks: readonly Click[]): Promise<void> {
  if (clicks.length === 0) return;
  const rows = clicks.map(({ id, emailId, at, link, ipAddress, userAgent }) => [
    ...[id, emailId, at, link, ipAddress, userAgent],
  ]);
  await tx.insertMany('tracked_clicks', COLUMNS, rows, 'on conflict (id) do nothing');
}

/** Which of these ids are those of clicks that wait. */
export async function waitingAmong(tx: Executor, ids: readonly string[]): Promise<Set<string>> {
  const among = uuidsIn(tx.dialect, 'id', ids);
  const rows = await tx.all<{ id: string }>(`select id from tracked_clicks where ${among.sql}`, [among.value]);
  return new Set(rows.map((row) => row.id));
}

export interface Sought {
  /** Only those that were clicked by then. */
  until: number;
  /** So many of those that have waited longest say whose clicks are taken. */
  oldest: number;
  /** At most so many are taken. */
  limit: number;
}

/**
 * Takes the clicks of emails whose clicks have waited longest, of each email as many as there are: to judge one, all of its
 * email are read. Another node's are passed over.
 */
export async function takeClicks(tx: Executor, { until, oldest, limit }: Sought): Promise<Click[]> {
  const lock = tx.dialect === 'pg' ? ' for update skip locked' : '';
  const sql = `select * from tracked_clicks where clicked_at <= ? and email_id in (
      select email_id from tracked_clicks where clicked_at <= ? order by clicked_at, id limit ?)
    order by clicked_at, id limit ?${lock}`;
  return (await tx.all<ClickRow>(sql, [until, until, oldest, limit])).map(clickOf);
}

/** All that waits of these emails, taken or not. */
export async function waitingClicksOf(tx: Executor, emailIds: readonly string[]): Promise<Map<string, Click[]>> {
  const among = uuidsIn(tx.dialect, 'email_id', emailIds);
  const rows = await tx.all<ClickRow>(`select * from tracked_clicks where ${among.sql}`, [among.value]);
  return Map.groupBy(rows.map(clickOf), ({ emailId }) => emailId);
}

export async function removeClicks(tx: Executor, ids: readonly string[]): Promise<void> {
  const among = uuidsIn(tx.dialect, 'id', ids);
  await tx.run(`delete from tracked_clicks where ${among.sql}`, [among.value]);
}

/** When the one was clicked that has waited longest. */
export async function oldestClickAt(tx: Executor): Promise<number | undefined> {
  const row = await tx.get<{ at: number | null }>('select min(clicked_at) as at from tracked_clicks', []);
  const at = row?.at ?? undefined;
  return at === undefined ? undefined : Number(at);
}

const clickOf = (row: ClickRow): Click => ({
  ...{ id: row.id, emailId: row.email_id, at: Number(row.clicked_at), link: row.link },
  ...{ ipAddress: row.ip_address, userAgent: row.user_agent },
});
