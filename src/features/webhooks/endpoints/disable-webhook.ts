import type { Store } from '../../../platform/store/index.ts';
import { parkDue } from './webhook-events.store.ts';
import { setDisabled } from './webhooks.store.ts';

/** Rows a statement takes: a queue may be long, and mail that is accepted meanwhile waits for one of these. */
const BATCH = 500;

/**
 * Stops an endpoint and parks what was due. Nothing is sent from the first statement on; should the process end before
 * the last one, the rest is parked by `upkeep/remove-old-webhook-events.ts`, by whichever `EndpointSender` holds it, or by
 * a later call that enables the endpoint again. Answers whether it was enabled before.
 */
export async function disableWebhook(store: Store, id: string, reason: 'manual' | 'failing'): Promise<boolean> {
  const isNew = await setDisabled(store.db, id, { reason, now: store.clock.now() });
  if (isNew) await parkWhatIsDue(store, id);
  return isNew;
}

/** Ends by itself when the endpoint is enabled meanwhile, here or by another process. */
export async function parkWhatIsDue(store: Store, id: string): Promise<void> {
  while ((await parkDue(store.db, id, BATCH)) === BATCH);
}
