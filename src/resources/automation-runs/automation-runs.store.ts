import { pageOf, pageSql, pageValues, type Executor, type Page } from '../../platform/db/index.ts';

export type RunStatus = 'running' | 'completed' | 'failed' | 'cancelled';

/** A contact on its way through a version of an automation. It is begun by `enrol` of the events. */
export interface RunRow {
  id: string;
  team_id: string;
  automation_id: string;
  version: number;
  contact_id: string;
  /** JSON: what the event that started it said. */
  payload: string | null;
  status: RunStatus;
  /** The step that is carried out next; null for the first. */
  step_key: string | null;
  due_at: number;
  created_at: number;
  started_at: number | null;
  completed_at: number | null;
  error: string | null;
}

/** What was done of a run. */
export interface RunStepRow {
  run_id: string;
  step_key: string;
  status: 'running' | 'waiting' | 'completed' | 'failed';
  /** JSON. */
  output: string | null;
  error: string | null;
  started_at: number;
  completed_at: number | null;
}

export function findRun(
  db: Executor,
  { teamId, automationId }: { teamId: string; automationId: string },
  id: string,
): Promise<RunRow | undefined> {
  const sql = 'select * from automation_runs where id = ? and automation_id = ? and team_id = ?';
  return db.get<RunRow>(sql, [id, automationId, teamId]);
}

export const stepsOfRun = (db: Executor, runId: string): Promise<RunStepRow[]> =>
  db.all<RunStepRow>('select * from automation_run_steps where run_id = ?', [runId]);

/** A page, newest first. One look for each status, so that an index serves each. */
export async function listRunRows(
  db: Executor,
  automationId: string,
  statuses: readonly RunStatus[] | undefined,
  page: Page,
): Promise<{ rows: RunRow[]; hasMore: boolean }> {
  if (!statuses) {
    const sql = pageSql('automation_runs', 'automation_id = ?', page);
    return pageOf(await db.all<RunRow>(sql, [automationId, ...pageValues(page)]), page);
  }
  const sql = pageSql('automation_runs', 'automation_id = ? and status = ?', page);
  const found: RunRow[] = [];
  for (const status of new Set(statuses)) {
    found.push(...(await db.all<RunRow>(sql, [automationId, status, ...pageValues(page)])));
  }
  const isBack = page.before !== undefined;
  const inOrder = found.sort((a, b) => (a.id < b.id === isBack ? -1 : 1));
  return pageOf(inOrder.slice(0, page.limit + 1), page);
}

const CANCELLED = `update automation_runs set status = 'cancelled', completed_at = ?, lease_owner = null, lease_until = null
  where status = 'running'`;

/** Whoever carries one out finds at its next step that it is over. */
export async function cancelRunsOf(tx: Executor, automationId: string, at: number): Promise<void> {
  await tx.run(`${CANCELLED} and automation_id = ?`, [at, automationId]);
}

/** Of a contact that is erased nothing goes on, and nothing that was said of it stays. */
export async function eraseRunsOf(tx: Executor, contactId: string, at: number): Promise<void> {
  await tx.run(`${CANCELLED} and contact_id = ?`, [at, contactId]);
  await tx.run('update automation_runs set payload = null where contact_id = ?', [contactId]);
  await tx.run(
    `update automation_run_steps set output = null, error = null
      where run_id in (select id from automation_runs where contact_id = ?)`,
    [contactId],
  );
}
