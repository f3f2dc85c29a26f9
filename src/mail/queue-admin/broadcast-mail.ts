import { nextTurn } from '../../platform/clock/index.ts';
import type { World } from '../../platform/world/index.ts';
import { mailHoldsAmong } from '../../features/campaigns/broadcasts/index.ts';
import { takeUntouched, untouchedOfBroadcast } from '../queue/index.ts';
import { settleDropped } from '../settle/index.ts';
import { wakeAll } from './wake-all.ts';

const BATCH_ROWS = 200;

/** Behind a resume or a cancel: the mail that the hold of a broadcast keeps goes on, or is taken out of the queue. */
export async function freeBroadcastMail(world: World, broadcastId: string): Promise<number> {
  const [hold] = await mailHoldsAmong(world.db, [broadcastId]);
  if (!hold) return wakeAll(world, broadcastId);
  return hold.is_canceled === 1 ? dropMailOf(world, broadcastId) : 0;
}

/** Ends what was not begun: the rows go, and their failure is recorded, in one transaction. */
async function dropMailOf(world: World, broadcastId: string): Promise<number> {
  let dropped = 0;
  for (;;) {
    const { count, logLines } = await world.db.tx(async (tx) => {
      const rows = await takeUntouched(tx, await untouchedOfBroadcast(tx, broadcastId, BATCH_ROWS));
      return { count: rows.length, logLines: await settleDropped(world, tx, rows, { reason: 'broadcast_canceled' }) };
    });
    for (const say of logLines) say(world.mailLog);
    dropped += count;
    if (count < BATCH_ROWS) return dropped;
    await nextTurn();
  }
}
