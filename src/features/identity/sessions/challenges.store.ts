import type { Executor } from '../../../platform/db/index.ts';

export interface ChallengeRow {
  id: string;
  token_hash: string;
  browser_hash: string;
  user_id: string;
  /** A hash of what is kept of the password. */
  password_hash: string;
  secret_id: string;
  failures: number;
  expires_at: number;
}

const COLUMNS = [
  ...(['id', 'token_hash', 'browser_hash', 'user_id', 'password_hash', 'secret_id', 'failures', 'expires_at'] as const),
];

export const insertChallenge = (tx: Executor, row: ChallengeRow): Promise<number> =>
  tx.insertMany('mfa_challenges', COLUMNS, [COLUMNS.map((column) => row[column])]);

/** The live one of this token and this browser, counted as failed once more; undefined where it has failed `max` times. */
export const countChallenge = (
  tx: Executor,
  { tokenHash, browserHash }: { tokenHash: string; browserHash: string },
  { now, max }: { now: number; max: number },
): Promise<ChallengeRow | undefined> =>
  tx.get<ChallengeRow>(
    `update mfa_challenges set failures = failures + 1
      where token_hash = ? and browser_hash = ? and expires_at > ? and failures < ? returning *`,
    [tokenHash, browserHash, now, max],
  );

/** Answers whether it was there still: of two answers at once one begins a session. */
export const endChallenge = async (tx: Executor, id: string): Promise<boolean> =>
  (await tx.run('delete from mfa_challenges where id = ?', [id])) === 1;

export const endAllChallenges = (tx: Executor): Promise<number> => tx.run('delete from mfa_challenges');

export const removeChallengesBefore = (db: Executor, now: number): Promise<number> =>
  db.run('delete from mfa_challenges where expires_at <= ?', [now]);
