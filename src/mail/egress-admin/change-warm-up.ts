import { invalidField } from '../../platform/refusal.ts';
import type { OperatorCtx } from '../../tenancy/access/index.ts';
import { endWarmUp, listWarmUps, putWarmUp, removeWarmUp, WARM_UPS_CHANGED, type WarmUpRow } from '../egress/index.ts';
import { releaseThrottled } from '../queue/index.ts';
import { checkSource, getWarmUp } from './read-sources.ts';

interface ChangeCtx extends OperatorCtx {
  services: {
    /** Lets the delivery of this process read the warm-ups that are stored; does nothing in a process without it. */
    syncDelivery(): Promise<void>;
    wakeQueue(): void;
  };
}

/** Begins a warm-up at the first day for all providers, also if one is under way. */
export async function startWarmUp(ctx: ChangeCtx, source: string) {
  const { db, clock, config } = ctx.store;
  checkSource(config, source);
  await db.tx(async (tx) => {
    await removeWarmUp(tx, source);
    await putWarmUp(tx, { source, state: 'warming', now: clock.now() });
  });
  await announceChange(ctx);
  return getWarmUp(ctx.store, source);
}

export const pauseWarmUp = (ctx: ChangeCtx, source: string) => changeState(ctx, source, 'paused');

export const continueWarmUp = (ctx: ChangeCtx, source: string) => changeState(ctx, source, 'warming');

async function changeState(ctx: ChangeCtx, source: string, state: WarmUpRow['state']) {
  const { db, clock, config } = ctx.store;
  checkSource(config, source);
  await db.tx(async (tx) => {
    if (!(await listWarmUps(tx)).some((row) => row.source === source))
      throw invalidField('source', `The source ${source} is not being warmed up; start its warm-up first.`);
    await putWarmUp(tx, { source, state, now: clock.now() });
  });
  await announceChange(ctx);
  return getWarmUp(ctx.store, source);
}

/** Ends a warm-up. Mail that waits is due now; what other limits keep back is put aside again. */
export async function stopWarmUp(ctx: ChangeCtx, source: string) {
  const { db, clock, config } = ctx.store;
  checkSource(config, source);
  const removed = await db.tx((tx) => endWarmUp(tx, source, clock.now()));
  if (removed > 0) {
    // Delivery must know first, or it would put the mail aside again.
    await announceChange(ctx);
    await releaseThrottled(db, 'all', clock.now());
    ctx.services.wakeQueue();
  }
  return getWarmUp(ctx.store, source);
}

async function announceChange({ store, services }: ChangeCtx): Promise<void> {
  store.db.announce(WARM_UPS_CHANGED);
  await services.syncDelivery();
}
