import type { World } from '../../../platform/world/index.ts';
import { endPausesAfter } from '../../campaigns/broadcasts/index.ts';
import { bringBackEvents } from '../../webhooks/endpoints/index.ts';
import { bringBackDeliveries } from '../../../mail/queue/index.ts';
import { WAITS_MS } from '../../webhooks/delivery/index.ts';

const MINUTE_MS = 60_000;
/** Waits are spread by less than this factor; a deferral that is not a retry lasts one hour at most. */
const SPREAD = 1.2;
const DEFERRED_MS = 60 * MINUTE_MS;
/** The pause after a page of a broadcast lasts one minute at most. */
const PAUSE_MS_MAX = 2 * MINUTE_MS;

/** Number of rows whose due time was later than possible. */
export interface TimesCorrected {
  deliveries: number;
  webhook_events: number;
  broadcasts: number;
}

/**
 * Makes rows due that wait longer than any wait lasts, because a clock that was ahead wrote the time. Otherwise mail,
 * events and broadcasts would wait until the clock has caught up. Scheduled mail keeps its time.
 */
export async function correctTimes({ clock, config, db }: World): Promise<TimesCorrected> {
  const now = clock.now();
  const retryMs = Math.max(0, ...config.delivery.retry_minutes) * MINUTE_MS;
  const eventMs = Math.max(...WAITS_MS) * SPREAD;
  return {
    deliveries: await bringBackDeliveries(db, { now, latest: now + retryMs * SPREAD + DEFERRED_MS }),
    webhook_events: await bringBackEvents(db, { now, latest: now + eventMs }),
    broadcasts: await endPausesAfter(db, { now, latest: now + PAUSE_MS_MAX }),
  };
}
