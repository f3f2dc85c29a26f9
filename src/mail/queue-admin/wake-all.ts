import { nextTurn } from '../../platform/clock/index.ts';
import type { Db } from '../../platform/db/index.ts';
import type { Store } from '../../platform/store/index.ts';
import { releaseHeld } from '../queue/index.ts';

const BATCH_ROWS = 500;

/** Makes due what a hold keeps; answers how many deliveries that are. */
export async function wakeAll({ db, clock }: { db: Db } & Pick<Store, 'clock'>, holdId: string): Promise<number> {
  let woken = 0;
  for (;;) {
    const some = await db.tx((tx) => releaseHeld(tx, holdId, clock.now(), BATCH_ROWS));
    woken += some;
    if (some < BATCH_ROWS) return woken;
    await nextTurn();
  }
}
