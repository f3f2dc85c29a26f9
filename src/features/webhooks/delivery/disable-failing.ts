import type { World } from '../../../platform/world/index.ts';
import { disableWebhook } from '../endpoints/index.ts';
import { failingSinceBefore } from './endpoints.store.ts';

/** How long an endpoint may be tried without a success. */
export const FAILING_MS_MAX = 5 * 24 * 3_600_000;

/** Time after which a lasting fault is logged again: every failed attempt of every such endpoint meets it. */
const LOG_MS = 60_000;

/** Disables the endpoints that have failed for too long: all of them, or the one given. Never rejects. */
export type DisableFailing = (only?: string) => Promise<void>;

export function createDisableFailing(world: World, onDisabled: () => void): DisableFailing {
  const { db, clock, log } = world;
  let loggedAt = -Infinity;

  async function disable(id: string): Promise<void> {
    if (!(await disableWebhook(world, id, 'failing'))) return;
    log.warn({ webhookId: id }, 'a webhook was disabled after five days without success');
    onDisabled();
  }

  /** Logs a fault; the endpoint is tried again with the next renewal of leases. */
  function noteFault(error: unknown, webhookId: string | undefined): void {
    const now = clock.now();
    if (Math.abs(now - loggedAt) < LOG_MS) return;
    loggedAt = now;
    log.error({ err: error, webhookId }, 'could not disable a webhook that fails');
  }

  return async (only) => {
    try {
      const ids = await failingSinceBefore(db, clock.now() - FAILING_MS_MAX, only);
      // An endpoint that cannot be disabled must not prevent the others.
      for (const id of ids) await disable(id).catch((error: unknown) => noteFault(error, id));
    } catch (error) {
      noteFault(error, only);
    }
  };
}
