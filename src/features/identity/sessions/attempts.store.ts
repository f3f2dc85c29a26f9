import type { Executor } from '../../../platform/db/index.ts';

export interface Attempts {
  failures: number;
  since: number;
}

/** Counts one more, in a window that begins anew when it is over; answers what is counted now. */
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

/** Parties whose name begins with `kept` are counted for longer: those go that are before `keptFrom`. */
export const removeAttemptsBefore = (
  db: Executor,
  before: number,
  { kept, keptFrom }: { kept: string; keptFrom: number },
): Promise<number> =>
  db.run('delete from sign_in_attempts where since <= ? and (since <= ? or party not like ?)', [
    ...[before, keptFrom, `${kept}%`],
  ]);
