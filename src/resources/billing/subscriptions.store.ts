import type { Executor } from '../../platform/db/index.ts';

/** How a payment provider calls the state of a subscription, in our words. */
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

/** Counts a question to the provider as it begins; answers its number. */
export async function countQuestion(db: Executor, teamId: string): Promise<number> {
  const sql = `insert into team_subscriptions (team_id, asked, answered) values (?, 1, 0)
    on conflict (team_id) do update set asked = team_subscriptions.asked + 1 returning asked`;
  return Number((await db.get<{ asked: number }>(sql, [teamId]))?.asked);
}

/** Writes what was answered, unless a question that began later has been answered already. */
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
