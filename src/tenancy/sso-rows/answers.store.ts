import type { Executor } from '../../platform/db/index.ts';

/** Answers whether it is the first answer to this sign-in. */
export async function noteAnswer(tx: Executor, stateHash: string, now: number): Promise<boolean> {
  const sql = 'insert into sso_answers (state_hash, at) values (?, ?) on conflict (state_hash) do nothing';
  return (await tx.run(sql, [stateHash, now])) === 1;
}

export const removeAnswersBefore = (db: Executor, before: number): Promise<number> =>
  db.run('delete from sso_answers where at <= ?', [before]);
