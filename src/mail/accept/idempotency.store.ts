import type { Executor } from '../../platform/db/index.ts';

export interface AnswerRow {
  team_id: string;
  key: string;
  request_hash: string;
  response: string;
  expires_at: number;
}

const COLUMNS = ['team_id', 'key', 'request_hash', 'response', 'expires_at'] as const;

export const findAnswer = (db: Executor, teamId: string, key: string, now: number): Promise<AnswerRow | undefined> =>
  db.get<AnswerRow>('select * from idempotency_keys where team_id = ? and key = ? and expires_at > ?', [
    teamId,
    key,
    now,
  ]);

/** An expired row is overwritten; a live one makes the transaction fail, which is how a race between nodes is decided. */
export async function insertAnswers(tx: Executor, rows: readonly AnswerRow[], now: number): Promise<void> {
  for (const row of rows) {
    await tx.run('delete from idempotency_keys where team_id = ? and key = ? and expires_at <= ?', [
      row.team_id,
      row.key,
      now,
    ]);
  }
  await tx.insertMany(
    'idempotency_keys',
    COLUMNS,
    rows.map((row) => COLUMNS.map((column) => row[column])),
  );
}

export const deleteExpiredAnswers = (db: Executor, now: number): Promise<number> =>
  db.run('delete from idempotency_keys where expires_at <= ?', [now]);
