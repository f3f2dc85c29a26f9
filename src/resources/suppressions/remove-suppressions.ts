import { recordEvents } from '../../events/index.ts';
import type { Executor } from '../../platform/db/index.ts';
import { refuse } from '../../platform/refusal/index.ts';
import type { World } from '../../platform/world/index.ts';
import { normalizeAddress } from '../../protocol/address/index.ts';
import { mustReach, type Ctx } from '../access/index.ts';
import { suppressionNamed } from './read-suppressions.ts';
import { eventData } from './suppress.ts';
import { deleteRows, findByIds, findByKeys, type SuppressionRow } from './suppressions.store.ts';

interface Removed {
  object: 'suppression';
  id: string;
  deleted: true;
}

export async function deleteSuppression(ctx: Ctx, idOrAddress: string): Promise<Removed> {
  mustReach(ctx.actor, 'full_access');
  return ctx.world.db.tx(async (tx) => {
    const row = await suppressionNamed(tx, ctx.teamId, idOrAddress);
    await remove(ctx.world, tx, [row]);
    return removed(row);
  });
}

/** Removes what is suppressed among the addresses or ids, exactly one of which is given; skips the rest. */
export async function removeSuppressions(
  ctx: Ctx,
  input: { emails?: string[]; ids?: string[] },
): Promise<{ data: Removed[] }> {
  mustReach(ctx.actor, 'full_access');
  const { emails, ids } = input;
  if ((emails === undefined) === (ids === undefined)) {
    const given = emails === undefined ? 'neither' : 'both';
    throw refuse('invalid_parameter', { say: `Give exactly one of emails and ids; got ${given}.` });
  }
  return ctx.world.db.tx(async (tx) => {
    const rows = emails
      ? await findByKeys(tx, ctx.teamId, emails.map(normalizeAddress))
      : await findByIds(tx, ctx.teamId, ids ?? []);
    await remove(ctx.world, tx, rows);
    return { data: rows.map(removed) };
  });
}

async function remove(world: World, tx: Executor, rows: SuppressionRow[]): Promise<void> {
  const teamId = rows[0]?.team_id;
  if (teamId === undefined) return;
  await deleteRows(
    tx,
    teamId,
    rows.map((row) => row.id),
  );
  const at = world.clock.now();
  await recordEvents(
    tx,
    world.ids,
    rows.map((row) => ({ teamId, type: 'suppression.removed', subjectId: row.id, data: eventData(row), at })),
  );
}

const removed = (row: SuppressionRow): Removed => ({ object: 'suppression', id: row.id, deleted: true });
