import type { Executor } from '../../../platform/db/index.ts';
import type { SealedColumn } from '../../../platform/secrets/index.ts';

export const SEALED_MFA_SECRETS = {
  table: 'mfa_secrets',
  column: 'secret',
  purpose: 'authenticator secret',
} as const satisfies SealedColumn;

export interface SecretRow {
  id: string;
  user_id: string;
  /** The secret, sealed with the instance key. */
  secret: string;
  last_step: number | null;
  created_at: number;
  /** Time at which a code was entered for the first time, or null. */
  confirmed_at: number | null;
}

const SECRET = ['id', 'user_id', 'secret', 'last_step', 'created_at', 'confirmed_at'] as const;

export const findSecret = (db: Executor, userId: string): Promise<SecretRow | undefined> =>
  db.get<SecretRow>('select * from mfa_secrets where user_id = ?', [userId]);

/** Replaces the secret of a person. */
export async function replaceSecret(tx: Executor, row: SecretRow): Promise<void> {
  await tx.run('delete from mfa_secrets where user_id = ?', [row.user_id]);
  await tx.insertMany('mfa_secrets', SECRET, [SECRET.map((column) => row[column])]);
}

export const confirmSecret = (tx: Executor, id: string, at: number): Promise<number> =>
  tx.run('update mfa_secrets set confirmed_at = ? where id = ?', [at, id]);

/**
 * Records the time step of a code. Returns false if a code of this or a newer step was used before, so only one of two
 * concurrent callers succeeds.
 */
export async function useStep(tx: Executor, secretId: string, step: number): Promise<boolean> {
  const sql = 'update mfa_secrets set last_step = ? where id = ? and (last_step is null or last_step < ?)';
  return (await tx.run(sql, [step, secretId, step])) === 1;
}

export async function countRecoveryCodes(db: Executor, userId: string): Promise<number> {
  const sql = 'select count(*) as n from mfa_recovery_codes where user_id = ?';
  return Number((await db.get<{ n: number }>(sql, [userId]))?.n);
}

/** Replaces all recovery codes of a person. */
export async function replaceRecoveryHashes(tx: Executor, userId: string, hashes: readonly string[]): Promise<void> {
  await tx.run('delete from mfa_recovery_codes where user_id = ?', [userId]);
  await tx.insertMany(
    'mfa_recovery_codes',
    ['user_id', 'code_hash'],
    hashes.map((hash) => [userId, hash]),
  );
}

/** Uses up a recovery code. Returns whether it existed, so only one of two concurrent callers succeeds. */
export const useRecoveryHash = async (tx: Executor, userId: string, hash: string): Promise<boolean> =>
  (await tx.run('delete from mfa_recovery_codes where user_id = ? and code_hash = ?', [userId, hash])) === 1;

export async function removeFactors(tx: Executor, userId: string): Promise<void> {
  await tx.run('delete from mfa_secrets where user_id = ?', [userId]);
  await tx.run('delete from mfa_recovery_codes where user_id = ?', [userId]);
  await tx.run('delete from mfa_failures where user_id = ?', [userId]);
}

export interface Failures {
  failures: number;
  since: number;
}

/** Counts a failure; a new window begins when the previous one is over. Returns the current count. */
export async function countFailure(
  tx: Executor,
  { userId, kind }: { userId: string; kind: string },
  { now, from }: { now: number; from: number },
): Promise<Failures> {
  const counted = await tx.get<Failures>(
    `insert into mfa_failures (user_id, kind, failures, since) values (?, ?, 1, ?)
      on conflict (user_id, kind) do update set
        failures = case when mfa_failures.since <= ? then 1 else mfa_failures.failures + 1 end,
        since = case when mfa_failures.since <= ? then excluded.since else mfa_failures.since end
      returning failures, since`,
    [userId, kind, now, from, from],
  );
  return counted ?? { failures: 1, since: now };
}

export const uncountFailure = (tx: Executor, userId: string, kind: string): Promise<number> =>
  tx.run('update mfa_failures set failures = failures - 1 where user_id = ? and kind = ? and failures > 0', [
    userId,
    kind,
  ]);

export const forgetFailures = (tx: Executor, userId: string, kind: string): Promise<number> =>
  tx.run('delete from mfa_failures where user_id = ? and kind = ?', [userId, kind]);

export const removeFailuresBefore = (db: Executor, before: number): Promise<number> =>
  db.run('delete from mfa_failures where since <= ?', [before]);

/** Removes secrets that were created before this time and never confirmed. */
export const removeUnconfirmedBefore = (db: Executor, before: number): Promise<number> =>
  db.run('delete from mfa_secrets where confirmed_at is null and created_at <= ?', [before]);
