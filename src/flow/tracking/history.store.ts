import { textsIn, type Executor } from '../../platform/db/index.ts';

/** What an email's history says that a new engagement is judged by. */
export interface History {
  /** When it was first handed off; undefined while it was not. */
  sentAt: number | undefined;
  opened: number;
  clicked: number;
}

export const emptyHistory = (): History => ({ sentAt: undefined, opened: 0, clicked: 0 });

/** In one statement for all. It reads few rows, since what is counted here is what the count puts a limit to. */
export async function historiesOf(tx: Executor, emailIds: readonly string[]): Promise<Map<string, History>> {
  const histories = new Map(emailIds.map((id): [string, History] => [id, emptyHistory()]));
  if (emailIds.length === 0) return histories;
  const among = textsIn(tx.dialect, 'subject_id', emailIds);
  const rows = await tx.all<{ subject_id: string; type: string; n: number; first_at: number }>(
    `select subject_id, type, count(*) as n, min(created_at) as first_at from events
      where ${among.sql} and type in ('email.sent', 'email.opened', 'email.clicked') group by subject_id, type`,
    [among.value],
  );
  for (const { subject_id: emailId, type, n, first_at: firstAt } of rows) {
    const history = histories.get(emailId);
    if (!history) continue;
    if (type === 'email.opened') history.opened = Number(n);
    else if (type === 'email.clicked') history.clicked = Number(n);
    else history.sentAt = Number(firstAt);
  }
  return histories;
}
