import type { PaymentProvider } from './subscriptions.ts';
import { countSegments } from '../audience/index.ts';
import { changeOwnPlan } from './plans.ts';
import { getBilling, getInvoice, listInvoices, listPlans } from './read-billing.ts';
import { countBroadcasts } from '../campaigns/index.ts';
import { countDomains } from '../../mail/domains/index.ts';
import { readPage, type OperationTable } from '../../tenancy/access/index.ts';
import type { World } from '../../platform/world.ts';
import { knownPlan } from '../../tenancy/teams/index.ts';
import { getUsage } from '../../tenancy/usage/index.ts';

export const billing = {
  getBilling: (ctx) => getBilling(ctx, ctx.services.payments.name),
  listBillingPlans: async (ctx) => listPlans(ctx),
  changeBillingPlan: (ctx, { body }) => changeOwnPlan(ctx, body, ctx.services.payments.name),
  createBillingCheckout: async (ctx, { body }) => {
    const plan = knownPlan(ctx.store, body.plan);
    return { object: 'billing_checkout', url: await ctx.services.payments.checkout({ teamId: ctx.teamId, plan }) };
  },
  createBillingPortal: async (ctx) => ({
    object: 'billing_portal',
    url: await ctx.services.payments.portal(ctx.teamId),
  }),
  listInvoices: (ctx, { query }) => listInvoices(ctx, readPage(query)),
  getInvoice: (ctx, { path }) => getInvoice(ctx, path.invoice_id),
} satisfies OperationTable<World, { services: { payments: PaymentProvider } }>;

export const usage = {
  async getUsage(ctx) {
    const { db } = ctx.store;
    const [broadcasts, domains, segments] = await Promise.all([
      countBroadcasts(db, ctx.teamId),
      countDomains(db, ctx.teamId),
      countSegments(db, ctx.teamId),
    ]);
    return getUsage(ctx, { broadcasts, domains, segments });
  },
} satisfies OperationTable<World>;
