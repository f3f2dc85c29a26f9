import { textsIn, uuidsIn, type Executor } from '../../platform/db/index.ts';
import type { Arrival, TimedClick } from '../../protocol/machine-opens/index.ts';

/** What has a limit of its own. */
export type Kind = 'opened' | 'clicked' | 'machine_opened' | 'machine_clicked';

/** What an email's history says that a new engagement is judged by. */
export interface History extends Arrival {
  counts: Record<Kind, number>;
}

export const emptyHistory = (): History => ({
  sentAt: undefined,
  deliveredAt: undefined,
  counts: { opened: 0, clicked: 0, machine_opened: 0, machine_clicked: 0 },
});

/** In one statement for all. It reads few rows, since what is counted here is what the count puts a limit to. */
export async function historiesOf(tx: Executor, emailIds: readonly string[]): Promise<Map<string, History>> {
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

/** The clicks in these emails that are recorded as of this range of time, by email. */
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
