import { recordEvents } from '../events/index.ts';
import type { Executor } from '../../platform/db/index.ts';
import { notFound, refuse } from '../../platform/refusal/index.ts';
import type { Store } from '../../platform/store/index.ts';
import type { Ctx } from '../../tenancy/access/index.ts';
import { keyOf } from './email-key.ts';
import { suppressionNamed } from './read-suppressions.ts';
import { eventData } from './suppress.ts';
import { deleteRows, findByIds, findByKeys, type SuppressionRow } from './suppressions.store.ts';

interface Removed {
  object: 'suppression';
  id: string;
  deleted: true;
}

export async function deleteSuppression(ctx: Ctx, idOrAddress: string): Promise<Removed> {
  return ctx.store.db.tx(async (tx) => {
    const row = await suppressionNamed(tx, ctx.teamId, idOrAddress);
    const [gone] = await remove(ctx.store, tx, [row]);
    if (!gone) throw notFound('Suppression');
    return removed(gone);
  });
}

/** Removes what is suppressed among the addresses or ids, exactly one of which is given; skips the rest. */
export async function removeSuppressions(
  ctx: Ctx,
  input: { emails?: string[]; ids?: string[] },
): Promise<{ data: Removed[] }> {
  const { emails, ids } = input;
  if ((emails === undefined) === (ids === undefined)) {
    const given = emails === undefined ? 'neither' : 'both';
    throw refuse('invalid_parameter', { say: `Give exactly one of emails and ids; got ${given}.` });
  }
  return ctx.store.db.tx(async (tx) => {
    // What is no address cannot be suppressed, and what is not suppressed is skipped.
    const names = [...new Set(emails ? emails.map(keyOf).filter((key) => key !== undefined) : ids)];
    const found = emails ? await findByKeys(tx, ctx.teamId, names) : await findByIds(tx, ctx.teamId, names);
    const byName = new Map(found.map((row) => [emails ? row.email_key : row.id, row]));
    const asked = names.map((name) => byName.get(name)).filter((row) => row !== undefined);
    return { data: (await remove(ctx.store, tx, asked)).map(removed) };
  });
}

/** Answers those that this call removed and recorded. */
async function remove(store: Store, tx: Executor, asked: SuppressionRow[]): Promise<SuppressionRow[]> {
  const teamId = asked[0]?.team_id;
  if (teamId === undefined) return [];
  const ids = asked.map((row) => row.id);
  const deleted = await deleteRows(tx, teamId, ids);
  const rows = asked.filter((row) => deleted.has(row.id));
  const at = store.clock.now();
  await recordEvents(
    tx,
    store.ids,
    rows.map((row) => ({ teamId, type: 'suppression.removed', subjectId: row.id, data: eventData(row), at })),
  );
  return rows;
}

const removed = (row: SuppressionRow): Removed => ({ object: 'suppression', id: row.id, deleted: true });
