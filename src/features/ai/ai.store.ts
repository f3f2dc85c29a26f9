import { uuidsIn, type Executor } from '../../platform/db/index.ts';

/** Removes requests that no longer limit a team and are not in progress. */
export const removeOldRequests = (tx: Executor, teamId: string, limits: { now: number; since: number }) =>
  tx.run('delete from ai_requests where team_id = ? and created_at <= ? and (open_until is null or open_until <= ?)', [
    teamId,
    limits.since,
    limits.now,
  ]);

/** Returns the times of a team's requests since a time, oldest first. */
export async function requestsSince(tx: Executor, teamId: string, since: number): Promise<number[]> {
  const sql = 'select created_at from ai_requests where team_id = ? and created_at > ? order by created_at';
  const rows = await tx.all<{ created_at: number }>(sql, [teamId, since]);
  return rows.map((row) => Number(row.created_at));
}

/** Counts the credits that are held by requests in progress. */
export async function countOpen(tx: Executor, teamId: string, now: number): Promise<number> {
  const sql = 'select count(*) as n from ai_requests where team_id = ? and open_until > ?';
  return Number((await tx.get<{ n: number }>(sql, [teamId, now]))?.n);
}

export interface RequestRow {
  id: string;
  team_id: string;
  created_at: number;
  open_until: number | null;
}

export const insertRequest = (tx: Executor, row: RequestRow): Promise<number> =>
  tx.insertMany(
    'ai_requests',
    ['id', 'team_id', 'created_at', 'open_until'],
    [[row.id, row.team_id, row.created_at, row.open_until]],
  );

/** Closes a request; returns whether it was open until now. */
export async function closeRequest(tx: Executor, id: string, now: number): Promise<boolean> {
  const sql = 'update ai_requests set open_until = null where id = ? and open_until > ?';
  return (await tx.run(sql, [id, now])) === 1;
}

export interface DiagnosisRow {
  email_id: string;
  team_id: string;
  state_hash: string;
  diagnosis: string;
  created_at: number;
}

export const findDiagnosis = (db: Executor, emailId: string): Promise<DiagnosisRow | undefined> =>
  db.get<DiagnosisRow>('select * from ai_diagnoses where email_id = ?', [emailId]);

/** Replaces the stored diagnosis. */
export const putDiagnosis = (tx: Executor, row: DiagnosisRow): Promise<number> =>
  tx.run(
    `insert into ai_diagnoses (email_id, team_id, state_hash, diagnosis, created_at) values (?, ?, ?, ?, ?)
      on conflict (email_id) do update set state_hash = excluded.state_hash, diagnosis = excluded.diagnosis,
        created_at = excluded.created_at`,
    [row.email_id, row.team_id, row.state_hash, row.diagnosis, row.created_at],
  );

/** Removes diagnoses, in the transaction that removes the emails. */
export async function removeEmailDiagnoses(tx: Executor, emailIds: readonly string[]): Promise<void> {
  if (emailIds.length === 0) return;
  const among = uuidsIn(tx.dialect, 'email_id', emailIds);
  await tx.run(`delete from ai_diagnoses where ${among.sql}`, [among.value]);
}
