import type { BodyOf } from '../../contract/index.ts';
import type { Store } from '../../platform/store.ts';
import type { OperatorCtx } from '../../tenancy/access/index.ts';
import { releaseThrottled } from '../queue/index.ts';
import { putThrottle, removeThrottles, THROTTLES_CHANGED, type ThrottleRow } from '../throttles/index.ts';
import { findPlace, presentPlace, type Place } from './read-providers.ts';

const MINUTE_MS = 60_000;

interface ChangeCtx extends OperatorCtx {
  services: {
    /** Lets the delivery of this process read the limits that are stored; does nothing in a process without it. */
    syncDelivery(): Promise<void>;
    wakeQueue(): void;
  };
}

/** Suspends a provider until a time, instead of an earlier suspension by an operator. */
export async function suspendProvider(ctx: ChangeCtx, id: string, { minutes, reason }: BodyOf<'suspendProvider'>) {
  const { store, services } = ctx;
  // A receiver is known once delivery has stored it.
  await services.syncDelivery();
  const place = await findPlace(store, id);
  const now = store.clock.now();
  const row: ThrottleRow = {
    id: store.ids.uuid(),
    source: '',
    provider: place.provider,
    servers: place.servers,
    sender_domain: '',
    stream: '',
    kind: 'suspend',
    value: null,
    started_at: now,
    until_at: now + minutes * MINUTE_MS,
    step: 0,
    reaction: '',
    reason: reason.trim(),
  };
  await store.db.tx((tx) => putThrottle(tx, row));
  store.db.announce(THROTTLES_CHANGED);
  await services.syncDelivery();
  return presentPlace(store, place);
}

/** Ends the suspensions of a provider. */
export const resumeProvider = (ctx: ChangeCtx, id: string) => liftLimits(ctx, id, 'suspend');

/** Removes everything that limits a provider for a while. */
export const resetProvider = (ctx: ChangeCtx, id: string) => liftLimits(ctx, id, undefined);

async function liftLimits({ store, services }: ChangeCtx, id: string, kind: 'suspend' | undefined) {
  await services.syncDelivery();
  const place = await findPlace(store, id);
  const removed = await store.db.tx((tx) => removeThrottles(tx, { ...place, kind }));
  store.db.announce(THROTTLES_CHANGED);
  // Delivery must know first, or it would put the mail aside again.
  await services.syncDelivery();
  const deliveries = await releaseThrottled(store.db, toReceiver(store, place), store.clock.now());
  services.wakeQueue();
  return { object: 'provider_change' as const, id: place.id, removed, deliveries };
}

const toReceiver = ({ config }: Store, { provider, servers }: Place) => ({
  provider,
  servers,
  isRelay: provider === '' && Object.hasOwn(config.relays, servers),
});
