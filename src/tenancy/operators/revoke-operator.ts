import { notFound } from '../../platform/refusal/index.ts';
import type { Store } from '../../platform/store/index.ts';
import { listOperators, setRevoked, type OperatorRow } from './operators.store.ts';

/** The operator in force with this id or this name; a name that several bear matches none. */
export async function findOperator(store: Store, idOrName: string): Promise<OperatorRow> {
  const inForce = (await listOperators(store.db)).filter((row) => row.revoked_at === null);
  const found = inForce.filter((row) => row.id === idOrName.toLowerCase() || row.name === idOrName);
  const [only] = found;
  if (!only || found.length > 1) throw notFound(`One operator in force called ${JSON.stringify(idOrName)}`);
  return only;
}

/** Ends the token for good. */
export async function revokeOperator(store: Store, idOrName: string): Promise<OperatorRow> {
  const row = await findOperator(store, idOrName);
  const at = store.clock.now();
  if (!(await setRevoked(store.db, row.id, at))) throw notFound('Operator');
  return { ...row, revoked_at: at };
}
