import type { Executor } from '../../platform/db/index.ts';

/** Locks a team's count of received bytes until the end of the transaction, and answers it. */
export async function lockStorage(tx: Executor, teamId: string): Promise<number> {
  const sql = `insert into received_storage (team_id, bytes) values (?, 0)
    on conflict (team_id) do update set bytes = received_storage.bytes returning bytes`;
  return Number((await tx.get<{ bytes: number }>(sql, [teamId]))?.bytes ?? 0);
}

export const addStorage = (tx: Executor, teamId: string, bytes: number): Promise<number> =>
  tx.run('update received_storage set bytes = bytes + ? where team_id = ?', [bytes, teamId]);

export async function storageOf(db: Executor, teamId: string): Promise<number> {
  const row = await db.get<{ bytes: number }>('select bytes from received_storage where team_id = ?', [teamId]);
  return Number(row?.bytes ?? 0);
}
