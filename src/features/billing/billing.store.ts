import { cutPage, pageSql, pageValues, type Executor, type Page } from '../../platform/db/index.ts';
import type { Plan } from '../../platform/config/index.ts';

export interface PlanTerms {
  code: string;
  since: number;
  terms: Plan;
}

/** Returns the terms of all plans and their start times, oldest first: one entry for each change by the operator. */
export async function allTerms(db: Executor): Promise<PlanTerms[]> {
  const sql = 'select plan_code, terms, since from plan_terms order by since, id';
  const rows = await db.all<{ plan_code: string; terms: string; since: number }>(sql);
  return rows.map((row) => ({
    code: row.plan_code,
    since: Number(row.since),
    terms: JSON.parse(row.terms) as Plan,
  }));
}

export async function insertTerms(tx: Executor, row: PlanTerms & { id: string }): Promise<void> {
  const columns = ['id', 'plan_code', 'terms', 'since'];
  await tx.insertMany('plan_terms', columns, [[row.id, row.code, JSON.stringify(row.terms), row.since]]);
}

export const closedMonths = async (db: Executor): Promise<Set<string>> =>
  new Set((await db.all<{ month: string }>('select month from billing_months')).map(({ month }) => month));

/** Does nothing if another node was first. */
export async function insertClosedMonth(db: Executor, month: string, closedAt: number): Promise<void> {
  const sql = 'insert into billing_months (month, closed_at) values (?, ?) on conflict (month) do nothing';
  await db.run(sql, [month, closedAt]);
}

/** Returns teams that existed before `end` and whose month is open, ordered by id. */
export async function teamsToClose(
  db: Executor,
  { month, end, limit }: { month: string; end: number; limit: number },
): Promise<string[]> {
  const sql = `select id from teams t where created_at < ?
      and not exists (select 1 from billing_team_months m where m.team_id = t.id and m.month = ?)
    order by id limit ?`;
  return (await db.all<{ id: string }>(sql, [end, month, limit])).map(({ id }) => id);
}

/** Claims the closing of a team's month; returns whether this transaction does it. Waits for another one that does. */
export async function claimTeamMonth(
  tx: Executor,
  { teamId, month, closedAt }: { teamId: string; month: string; closedAt: number },
): Promise<boolean> {
  const sql = `insert into billing_team_months (team_id, month, closed_at) values (?, ?, ?)
    on conflict (team_id, month) do nothing`;
  return (await tx.run(sql, [teamId, month, closedAt])) === 1;
}

export async function isMonthClosed(db: Executor, teamId: string, month: string): Promise<boolean> {
  const sql = 'select 1 as found from billing_team_months where team_id = ? and month = ?';
  return (await db.get(sql, [teamId, month])) !== undefined;
}

/**
 * Returns the next number and locks the series until the end of the transaction: a number that is rolled back is used
 * again.
 */
export async function nextNumber(tx: Executor, series: string): Promise<number> {
  const sql = `insert into invoice_series (series, last_number) values (?, 1)
    on conflict (series) do update set last_number = invoice_series.last_number + 1 returning last_number`;
  return Number((await tx.get<{ last_number: number }>(sql, [series]))?.last_number);
}

export interface InvoiceRow {
  id: string;
  team_id: string;
  number: string;
  month: string;
  /** JSON object. */
  content: string;
  issued_at: number;
}

export async function insertInvoice(tx: Executor, row: InvoiceRow): Promise<void> {
  const columns = ['id', 'team_id', 'number', 'month', 'content', 'issued_at'];
  await tx.insertMany('invoices', columns, [[row.id, row.team_id, row.number, row.month, row.content, row.issued_at]]);
}

export const findInvoice = (db: Executor, teamId: string, id: string): Promise<InvoiceRow | undefined> =>
  db.get<InvoiceRow>('select * from invoices where team_id = ? and id = ?', [teamId, id]);

export async function invoicePage(
  db: Executor,
  teamId: string,
  page: Page,
): Promise<{ rows: InvoiceRow[]; hasMore: boolean }> {
  const sql = pageSql('invoices', 'team_id = ?', page);
  return cutPage(await db.all<InvoiceRow>(sql, [teamId, ...pageValues(page)]), page);
}
