import type { Executor } from '../../platform/db/index.ts';

/**
 * Locks a team to the end of the transaction, so that one caller at a time counts and adds what one of its limits
 * allows; returns the code of its plan. On SQLite a writing transaction is alone anyway.
 */
export async function lockTeam(tx: Executor, teamId: string): Promise<string | undefined> {
  const lock = tx.dialect === 'pg' ? 'for no key update' : '';
  return (await tx.get<{ plan_code: string }>(`select plan_code from teams where id = ? ${lock}`, [teamId]))?.plan_code;
}
