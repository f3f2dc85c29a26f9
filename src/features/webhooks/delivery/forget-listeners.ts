import type { World } from '../../../platform/world/index.ts';
import { listAbandoned, listOverfull, removeEventsOfNobody, removeListeners, removeSent } from './listeners.store.ts';

/** How long a listener waits for its client to come back, and goes on collecting events. */
export const RESUME_MS_MAX = 300_000;
/** Longer than a stream can be stuck and a client be away, together. */
const SENT_KEPT_MS = 600_000;
/** Events that may wait for one listener, however slow its client is. */
const WAITING_MAX = 100_000;
const ROWS_AT_ONCE = 1000;

/** Removes abandoned listeners, those with too many events waiting, and sent events that need not be sent again. */
export async function forgetListeners(world: World): Promise<void> {
  const { db, clock } = world;
  const abandoned = await listAbandoned(db, clock.now() - RESUME_MS_MAX, ROWS_AT_ONCE);
  await removeListeners(db, [...abandoned, ...(await listOverfull(db, WAITING_MAX))]);
  while ((await removeSent(db, clock.now() - SENT_KEPT_MS, ROWS_AT_ONCE)) === ROWS_AT_ONCE);
  while ((await removeEventsOfNobody(db, ROWS_AT_ONCE)) === ROWS_AT_ONCE);
}
