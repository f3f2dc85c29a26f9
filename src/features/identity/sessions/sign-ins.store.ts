import type { Executor } from '../../../platform/db/index.ts';

export interface FailedSignInRow {
  id: string;
  email_key: string;
  address: string | null;
  user_agent: string | null;
  request_id: string | null;
}

const FAILED_SIGN_IN_COLUMNS = ['id', 'email_key', 'address', 'user_agent', 'request_id'] as const;

export const insertFailedSignIn = (tx: Executor, row: FailedSignInRow): Promise<number> =>
  tx.insertMany('failed_sign_ins', FAILED_SIGN_IN_COLUMNS, [FAILED_SIGN_IN_COLUMNS.map((column) => row[column])]);

export const failedSignIns = (db: Executor, limit: number): Promise<FailedSignInRow[]> =>
  db.all<FailedSignInRow>('select * from failed_sign_ins order by id limit ?', [limit]);

export const removeFailedSignIn = (tx: Executor, id: string): Promise<number> =>
  tx.run('delete from failed_sign_ins where id = ?', [id]);

interface ChallengeRow {
  id: string;
  token_hash: string;
  browser_hash: string;
  user_id: string;
  /** Hash of the stored password hash. */
  password_hash: string;
  secret_id: string;
  failures: number;
  expires_at: number;
}

const CHALLENGE_COLUMNS = [
  'id',
  'token_hash',
  'browser_hash',
  'user_id',
  'password_hash',
  'secret_id',
  'failures',
  'expires_at',
] as const;

export const insertChallenge = (tx: Executor, row: ChallengeRow): Promise<number> =>
  tx.insertMany('mfa_challenges', CHALLENGE_COLUMNS, [CHALLENGE_COLUMNS.map((column) => row[column])]);

/**
 * Returns the live challenge of this token and browser after counting a failure; undefined if it has failed `max`
 * times.
 */
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

/** Ends a challenge. Returns whether it still existed, so only one of two concurrent entries begins a session. */
export const endChallenge = async (tx: Executor, id: string): Promise<boolean> =>
  (await tx.run('delete from mfa_challenges where id = ?', [id])) === 1;

export const endAllChallenges = (tx: Executor): Promise<number> => tx.run('delete from mfa_challenges');

export const removeChallengesBefore = (db: Executor, now: number): Promise<number> =>
  db.run('delete from mfa_challenges where expires_at <= ?', [now]);

interface Attempts {
  failures: number;
  since: number;
}

/** Counts an attempt; a new window begins when the previous one is over. Returns the current count. */
export async function countAttempt(tx: Executor, party: string, { now, from }: { now: number; from: number }) {
  const counted = await tx.get<Attempts>(
    `insert into sign_in_attempts (party, failures, since) values (?, 1, ?)
      on conflict (party) do update set
        failures = case when sign_in_attempts.since <= ? then 1 else sign_in_attempts.failures + 1 end,
        since = case when sign_in_attempts.since <= ? then excluded.since else sign_in_attempts.since end
      returning failures, since`,
    [party, now, from, from],
  );
  return counted ?? { failures: 1, since: now };
}

export const uncountAttempt = (tx: Executor, party: string): Promise<number> =>
  tx.run('update sign_in_attempts set failures = failures - 1 where party = ? and failures > 0', [party]);

export const forgetAttempts = (tx: Executor, party: string): Promise<number> =>
  tx.run('delete from sign_in_attempts where party = ?', [party]);

/** Removes old attempts. Keys that begin with `kept` count for longer and are removed only if older than `keptFrom`. */
export const removeAttemptsBefore = (
  db: Executor,
  before: number,
  { kept, keptFrom }: { kept: string; keptFrom: number },
): Promise<number> =>
  db.run('delete from sign_in_attempts where since <= ? and (since <= ? or party not like ?)', [
    before,
    keptFrom,
    `${kept}%`,
  ]);
