import { uuidsIn, textsIn, type Executor } from '../../platform/db/index.ts';
import type { Click } from './engagement.ts';
import type { Arrival, TimedClick } from '../../protocol/machine-opens.ts';

interface ClickRow {
  id: string;
  email_id: string;
  clicked_at: number;
  link: string;
  ip_address: string;
  user_agent: string;
}

const COLUMNS = ['id', 'email_id', 'clicked_at', 'link', 'ip_address', 'user_agent'] as const;

/** Stores clicks until they can be classified; ignores those that are stored already. */
export async function keepClicks(tx: Executor, clicks: readonly Click[]): Promise<void> {
  if (clicks.length === 0) return;
  const rows = clicks.map(({ id, emailId, at, link, ipAddress, userAgent }) => [
    id,
    emailId,
    at,
    link,
    ipAddress,
    userAgent,
  ]);
  await tx.insertMany('tracked_clicks', COLUMNS, rows, 'on conflict (id) do nothing');
}

/** Returns those of the ids that belong to waiting clicks. */
export async function waitingAmong(tx: Executor, ids: readonly string[]): Promise<Set<string>> {
  const among = uuidsIn(tx.dialect, 'id', ids);
  const rows = await tx.all<{ id: string }>(`select id from tracked_clicks where ${among.sql}`, [among.value]);
  return new Set(rows.map((row) => row.id));
}

export interface Sought {
  /** Only clicks made by then are taken. */
  until: number;
  /** Number of longest-waiting clicks whose emails are considered. */
  oldest: number;
  /** Maximum number of clicks to take. */
  limit: number;
}

/**
 * Takes clicks, up to `limit`, of the emails whose clicks have waited longest: to classify one, all of its email are
 * read. Skips those that another node has taken.
 */
export async function takeClicks(tx: Executor, { until, oldest, limit }: Sought): Promise<Click[]> {
  const lock = tx.dialect === 'pg' ? ' for update skip locked' : '';
  const sql = `select * from tracked_clicks where clicked_at <= ? and email_id in (
      select email_id from tracked_clicks where clicked_at <= ? order by clicked_at, id limit ?)
    order by clicked_at, id limit ?${lock}`;
  return (await tx.all<ClickRow>(sql, [until, until, oldest, limit])).map(toClick);
}

/** Returns all waiting clicks of these emails, taken or not. */
export async function loadWaitingClicks(tx: Executor, emailIds: readonly string[]): Promise<Map<string, Click[]>> {
  const among = uuidsIn(tx.dialect, 'email_id', emailIds);
  const rows = await tx.all<ClickRow>(`select * from tracked_clicks where ${among.sql}`, [among.value]);
  return Map.groupBy(rows.map(toClick), ({ emailId }) => emailId);
}

export async function removeClicks(tx: Executor, ids: readonly string[]): Promise<void> {
  const among = uuidsIn(tx.dialect, 'id', ids);
  await tx.run(`delete from tracked_clicks where ${among.sql}`, [among.value]);
}

/** Returns the time of the longest-waiting click. */
export async function oldestClickAt(tx: Executor): Promise<number | undefined> {
  const row = await tx.get<{ at: number | null }>('select min(clicked_at) as at from tracked_clicks', []);
  const at = row?.at ?? undefined;
  return at === undefined ? undefined : Number(at);
}

const toClick = (row: ClickRow): Click => ({
  id: row.id,
  emailId: row.email_id,
  at: Number(row.clicked_at),
  link: row.link,
  ipAddress: row.ip_address,
  userAgent: row.user_agent,
});

/** Kinds of engagement with a limit of their own. */
export type Kind = 'opened' | 'clicked' | 'machine_opened' | 'machine_clicked';

/** Facts from an email's history by which a new engagement is classified. */
export interface History extends Arrival {
  counts: Record<Kind, number>;
}

export const emptyHistory = (): History => ({
  sentAt: undefined,
  deliveredAt: undefined,
  counts: { opened: 0, clicked: 0, machine_opened: 0, machine_clicked: 0 },
});

/** Reads all histories in one statement. It reads few rows, since the limit on each count bounds them. */
export async function loadHistories(tx: Executor, emailIds: readonly string[]): Promise<Map<string, History>> {
  const histories = new Map(emailIds.map((id): [string, History] => [id, emptyHistory()]));
  if (emailIds.length === 0) return histories;
  const recorded = textsIn(tx.dialect, 'subject_id', emailIds);
  const waiting = uuidsIn(tx.dialect, 'email_id', emailIds);
  const machine = tx.dialect === 'pg' ? `data::jsonb ->> 'machine'` : `json_extract(data, '$.machine')`;
  const rows = await tx.all<{ subject_id: string; kind: string; n: number; first_at: number }>(
    `select subject_id, case
        when type in ('email.sent', 'email.delivered') then substr(type, 7)
        when ${machine} is null then substr(type, 7)
        else 'machine_' || substr(type, 7) end as kind, count(*) as n, min(created_at) as first_at
      from events where ${recorded.sql} and type in ('email.sent', 'email.delivered', 'email.opened', 'email.clicked')
      group by 1, 2
    union all select cast(email_id as text), 'clicked', count(*), min(clicked_at)
      from tracked_clicks where ${waiting.sql} group by 1`,
    [recorded.value, waiting.value],
  );
  for (const { subject_id: emailId, kind, n, first_at: firstAt } of rows) {
    const history = histories.get(emailId);
    if (!history) continue;
    if (kind === 'sent') history.sentAt = Number(firstAt);
    else if (kind === 'delivered') history.deliveredAt = Number(firstAt);
    else history.counts[kind as Kind] += Number(n);
  }
  return histories;
}

/** Returns the recorded clicks of these emails within this range of time, by email. */
export async function clicksRecorded(
  tx: Executor,
  emailIds: readonly string[],
  { from, until }: { from: number; until: number },
): Promise<Map<string, TimedClick[]>> {
  const among = textsIn(tx.dialect, 'subject_id', emailIds);
  const link = tx.dialect === 'pg' ? `data::jsonb #>> '{click,link}'` : `json_extract(data, '$.click.link')`;
  const rows = await tx.all<{ id: string; subject_id: string; created_at: number; link: string }>(
    `select id, subject_id, created_at, ${link} as link from events
      where ${among.sql} and type = 'email.clicked' and created_at >= ? and created_at <= ?`,
    [among.value, from, until],
  );
  const clicks = rows.map((row) => ({
    emailId: row.subject_id,
    id: row.id,
    at: Number(row.created_at),
    link: row.link,
  }));
  return Map.groupBy(clicks, ({ emailId }) => emailId);
}
