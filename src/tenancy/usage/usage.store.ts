import type { Executor } from '../../platform/db/index.ts';

export type UsageKind = 'transactional' | 'marketing' | 'received' | 'automation_run' | 'ai_answer';
export type Counts = Record<UsageKind, number>;

interface Usage {
  daily: Counts;
  monthly: Counts;
}

/** Days and months are UTC, so that a quota resets at the same moment for everybody. */
function toPeriods(at: number): { day: string; month: string } {
  const day = new Date(at).toISOString().slice(0, 10);
  return { day, month: day.slice(0, 7) };
}

/** Returns the code of a team's plan, which the config may not contain. */
export async function findPlanCode(db: Executor, teamId: string): Promise<string | undefined> {
  const row = await db.get<{ plan_code: string }>('select plan_code from teams where id = ?', [teamId]);
  return row?.plan_code;
}

/** Adds to the day's and the month's counter; returns their new values. */
export async function countUsage(
  tx: Executor,
  addition: { teamId: string; kind: UsageKind; at: number; count: number },
): Promise<{ daily: number; monthly: number }> {
  const { day, month } = toPeriods(addition.at);
  const { teamId, kind, count } = addition;
  // Always the day first: two nodes that locked the rows in different orders would deadlock.
  const rows = await tx.all<{ period: string; used: number }>(
    `insert into usage_counters (team_id, period, kind, used) values (?, ?, ?, ?), (?, ?, ?, ?)
      on conflict (team_id, period, kind) do update set used = usage_counters.used + excluded.used
      returning period, used`,
    [teamId, day, kind, count, teamId, month, kind, count],
  );
  const usedIn = (period: string): number => Number(rows.find((row) => row.period === period)?.used);
  return { daily: usedIn(day), monthly: usedIn(month) };
}

export async function loadUsage(db: Executor, teamId: string, now: number): Promise<Usage> {
  const { day, month } = toPeriods(now);
  const sql = 'select period, kind, used from usage_counters where team_id = ? and period in (?, ?)';
  const rows = await db.all<{ period: string; kind: UsageKind; used: number }>(sql, [teamId, day, month]);
  const none = (): Counts => ({ transactional: 0, marketing: 0, received: 0, automation_run: 0, ai_answer: 0 });
  const usage: Usage = { daily: none(), monthly: none() };
  for (const row of rows) usage[row.period === day ? 'daily' : 'monthly'][row.kind] = Number(row.used);
  return usage;
}

/** Changes the number of contacts of a team; returns the new number. Locks the team's row until the commit. */
export async function addToContactCount(tx: Executor, teamId: string, change: number): Promise<number> {
  const sql = `insert into contact_counts (team_id, contacts) values (?, ?)
    on conflict (team_id) do update set contacts = contact_counts.contacts + excluded.contacts returning contacts`;
  return Number((await tx.get<{ contacts: number }>(sql, [teamId, change]))?.contacts);
}

export async function contactCount(db: Executor, teamId: string): Promise<number> {
  const row = await db.get<{ contacts: number }>('select contacts from contact_counts where team_id = ?', [teamId]);
  return Number(row?.contacts ?? 0);
}

/** Returns the emails that counted towards the quota of a month (`2026-11`), by day. */
export async function dailyEmails(db: Executor, teamId: string, month: string): Promise<Map<string, number>> {
  const sql = `select period, used from usage_counters
    where team_id = ? and kind = 'transactional' and period >= ? and period <= ?`;
  const rows = await db.all<{ period: string; used: number }>(sql, [teamId, `${month}-01`, `${month}-31`]);
  return new Map(rows.map(({ period, used }) => [period, Number(used)]));
}

/** Locks a team's count of received bytes until the end of the transaction, and returns it. */
export async function lockStorage(tx: Executor, teamId: string): Promise<number> {
  const sql = `insert into received_storage (team_id, bytes) values (?, 0)
    on conflict (team_id) do update set bytes = received_storage.bytes returning bytes`;
  return Number((await tx.get<{ bytes: number }>(sql, [teamId]))?.bytes ?? 0);
}

export const addStorage = (tx: Executor, teamId: string, bytes: number): Promise<number> =>
  tx.run('update received_storage set bytes = bytes + ? where team_id = ?', [bytes, teamId]);

export async function loadStorageBytes(db: Executor, teamId: string): Promise<number> {
  const row = await db.get<{ bytes: number }>('select bytes from received_storage where team_id = ?', [teamId]);
  return Number(row?.bytes ?? 0);
}
