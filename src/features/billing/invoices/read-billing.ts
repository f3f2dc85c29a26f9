import { isoTime } from '../../../platform/clock/index.ts';
import type { BillingObject } from '../../../contract/index.ts';
import { planNamed } from '../../../platform/config/index.ts';
import type { Page } from '../../../platform/db/index.ts';
import { notFound } from '../../../platform/refusal/index.ts';
import type { Ctx } from '../../../tenancy/access/index.ts';
import { findTeam } from '../../../tenancy/teams/index.ts';
import { findInvoice, invoicePage } from './billing.store.ts';
import { presentInvoice, presentListed, presentPlan } from './present.ts';
import { findSubscription } from './subscriptions.store.ts';

/** `provider` is the name of who takes the payments. */
export async function getBilling({ store, teamId }: Ctx, provider: string): Promise<BillingObject> {
  const { config, db } = store;
  const team = await findTeam(db, teamId);
  if (!team) throw notFound('Team');
  const { code, plan } = planNamed(config, team.plan_code);
  const subscription = await findSubscription(db, teamId);
  return {
    object: 'billing',
    plan: presentPlan(code, plan),
    effective_plan_code: code,
    subscription: subscription
      ? {
          status: subscription.status,
          current_period_start: isoTime(subscription.current_period_start),
          current_period_end: isoTime(subscription.current_period_end),
        }
      : null,
    currency: config.billing.currency,
    time_zone: config.billing.time_zone,
    self_service: config.billing.self_service,
    payment_provider: provider,
  };
}

/** Those of the configuration, which a team may be given. */
export function listPlans({ store }: Ctx) {
  const data = Object.entries(store.config.plans).map(([code, plan]) => presentPlan(code, plan));
  return { object: 'list' as const, has_more: false as const, data };
}

export async function listInvoices({ store, teamId }: Ctx, page: Page) {
  const { rows, hasMore } = await invoicePage(store.db, teamId, page);
  return { object: 'list' as const, has_more: hasMore, data: rows.map(presentListed) };
}

export async function getInvoice({ store, teamId }: Ctx, id: string) {
  const row = await findInvoice(store.db, teamId, id.toLowerCase());
  if (!row) throw notFound('Invoice');
  return presentInvoice(row);
}
