import type { Store } from '../../../platform/store/index.ts';
import { overdueSubscriptions } from '../invoices/index.ts';
import { createSendSwitch } from '../../../tenancy/instance/index.ts';
import { noPayments, type PaymentProvider } from './payment-provider.ts';
import { readSubscription } from './read-subscription.ts';

const HOUR_MS = 3_600_000;
const TEAMS_AT_ONCE = 200;

/**
 * Asks about subscriptions whose period ended an hour ago, of which an event should have told: each once an hour. So a lost event
 * keeps no plan for ever, and a finding says that events do not come. A restored copy leaves it to its original. Answers how many
 * were asked about.
 */
export async function recheckSubscriptions(store: Store, provider: PaymentProvider): Promise<number> {
  if (provider.name === noPayments.name || (await createSendSwitch(store)()).isRestored) return 0;
  const before = store.clock.now() - HOUR_MS;
  const teams = await overdueSubscriptions(store.db, before, TEAMS_AT_ONCE);
  for (const teamId of teams) {
    try {
      await readSubscription(store, provider, teamId, { isRecheck: true });
    } catch (error) {
      store.log.warn({ err: error, teamId }, 'the payment provider could not be asked about a subscription');
    }
  }
  return teams.length;
}
