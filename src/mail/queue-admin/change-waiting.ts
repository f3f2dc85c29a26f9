import type { BodyOf } from '../../contract/index.ts';
import { nextTurn } from '../../platform/clock/index.ts';
import type { World } from '../../platform/world/index.ts';
import type { OperatorCtx } from '../../tenancy/access/index.ts';
import { countTouched, heldIn, holdsById, retryNow, takeUntouched, untouchedIds } from '../queue/index.ts';
import { settleDropped } from '../settle/index.ts';
import { presentHold } from './holds.ts';
import { readSelection } from './selection.ts';

/** Short enough that claims and sends get in between. */
const BATCH_ROWS = 200;

const HOLDS_NAMED_MAX = 100;

export async function retryWaiting({ store: { db, clock } }: OperatorCtx<World>, input: BodyOf<'retryQueue'>) {
  const selection = readSelection(input);
  const deliveries = await retryNow(db, selection, clock.now());
  const byHold = await heldIn(db, selection);
  const held = [...byHold.values()].reduce((sum, count) => sum + count, 0);
  const holds = await holdsById(db, [...byHold.keys()], HOLDS_NAMED_MAX);
  return { object: 'queue_retry' as const, deliveries, held, holds: holds.map(presentHold) };
}

/**
 * Ends the deliveries that are not claimed: the rows go, and their failure is recorded, in one transaction. A claim that comes at the
 * same moment has the row or does not, and what was handed off is never touched.
 */
export async function dropWaiting({ store }: OperatorCtx<World>, input: BodyOf<'dropQueue'>) {
  const selection = readSelection(input);
  const reason = input.reason.trim();
  let deliveries = 0;
  for await (const ids of untouchedIds(store.db, selection, BATCH_ROWS)) {
    const { count, logLines } = await store.db.tx(async (tx) => {
      const rows = await takeUntouched(tx, ids);
      return {
        count: rows.length,
        logLines: await settleDropped(store, tx, rows, { reason: 'dropped_by_operator', detail: reason }),
      };
    });
    deliveries += count;
    for (const say of logLines) say(store.mailLog);
    await nextTurn();
  }
  return { object: 'queue_drop' as const, deliveries, left: await countTouched(store.db, selection) };
}
