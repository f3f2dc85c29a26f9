import type { World } from '../../platform/world/index.ts';
import { disableWebhook } from '../../resources/webhooks/index.ts';
import { failingSinceBefore } from './endpoints.store.ts';

/** How long an endpoint may be tried without a success. */
export const FAILING_MS_MAX = 5 * 24 * 3_600_000;

/** Disables the endpoints that have failed for too long: all of them, or the one given. Never rejects. */
export type DisableFailing = (only?: string) => Promise<void>;

export function createDisableFailing(world: World, onDisabled: () => void): DisableFailing {
  return async (only) => {
    try {
      for (const id of await failingSinceBefore(world.db, world.clock.now() - FAILING_MS_MAX, only)) {
        if (!(await disableWebhook(world, id, 'failing'))) continue;
        world.log.warn({ webhookId: id }, 'a webhook was disabled after five days without success');
        onDisabled();
      }
    } catch (error) {
      // Tried again with the next renewal of leases.
      world.log.error({ err: error, webhookId: only }, 'could not disable a webhook that fails');
    }
  };
}
