import type { Executor } from '../../platform/db/index.ts';

export interface OperatorRow {
  id: string;
  name: string;
  /** The beginning of the token, by which people recognize it. */
  token_prefix: string;
  created_at: number;
  revoked_at: number | null;
}

export async function insertOperator(
  tx: Executor,
  { id, name, token_prefix, created_at }: Omit<OperatorRow, 'revoked_at'>,
  tokenHash: string,
): Promise<void> {
  const columns = ['id', 'name', 'token_prefix', 'created_at', 'token_hash'];
  await tx.insertMany('operators', columns, [[id, name, token_prefix, created_at, tokenHash]]);
}

const COLUMNS = 'id, name, token_prefix, created_at, revoked_at';

/** Lists all operators, including revoked ones, whom audit entries still name. */
export const listOperators = (db: Executor): Promise<OperatorRow[]> =>
  db.all<OperatorRow>(`select ${COLUMNS} from operators order by id`);

export const findOperatorByHash = (db: Executor, tokenHash: string): Promise<OperatorRow | undefined> =>
  db.get<OperatorRow>(`select ${COLUMNS} from operators where token_hash = ?`, [tokenHash]);

/** Revokes an operator; returns false if it was revoked before. */
export async function setRevoked(db: Executor, id: string, at: number): Promise<boolean> {
  return (await db.run('update operators set revoked_at = ? where id = ? and revoked_at is null', [at, id])) === 1;
}
