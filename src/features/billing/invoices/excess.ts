import { monthlyLimitOf, type Plan } from '../../../platform/config/index.ts';
import type { Executor } from '../../../platform/db/index.ts';
import type { Store } from '../../../platform/store/index.ts';
import { countDomains } from '../../../mail/domains/index.ts';
import { contactCount, storageOf, usageOf } from '../../../tenancy/usage/index.ts';
import { countWebhooks } from '../../webhooks/endpoints/index.ts';

const MIB = 1024 * 1024;

/** What of a team is more than a plan allows, and what would have to go first. */
export async function excessOf(
  store: Store,
  db: Executor,
  { teamId, plan }: { teamId: string; plan: Plan },
): Promise<{ says: string }[]> {
  const { monthly } = await usageOf(db, teamId, store.clock.now());
  const uses = [
    { used: await countDomains(db, teamId), limit: plan.domain_limit, what: 'domains', one: 'domain', first: remove },
    {
      used: await contactCount(db, teamId),
      limit: plan.contact_limit,
      what: 'contacts',
      one: 'contact',
      first: remove,
    },
    {
      used: await countWebhooks(db, teamId),
      limit: plan.webhook_endpoint_limit,
      what: 'webhook endpoints',
      one: 'webhook endpoint',
      first: remove,
    },
    {
      used: Math.ceil((await storageOf(db, teamId)) / MIB),
      ...{ limit: plan.received_storage_mb, what: 'MiB of received mail', one: 'MiB of received mail', first: remove },
    },
    {
      used: monthly.transactional,
      limit: monthlyLimitOf(plan),
      what: 'emails this month',
      one: 'email this month',
      first: wait,
    },
    {
      used: monthly.marketing,
      limit: plan.marketing_emails,
      what: 'marketing emails this month',
      one: 'marketing email this month',
      first: wait,
    },
  ];
  return uses
    .filter(({ used, limit }) => used > limit)
    .map(({ used, limit, what, one, first }) => ({
      says: `it has ${used} ${used === 1 ? one : what} and the plan allows ${limit}: ${first(used - limit)}`,
    }));
}

const remove = (count: number): string => `delete ${count} first`;
const wait = (): string => 'wait for the next month';
