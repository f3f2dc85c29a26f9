import { changeOwnPlan, getBilling, getInvoice, listInvoices, listPlans } from '../features/billing/invoices/index.ts';
import { knownPlan } from '../tenancy/teams/index.ts';
import { pageOf, type Operations } from './operation.ts';

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
  listInvoices: (ctx, { query }) => listInvoices(ctx, pageOf(query)),
  getInvoice: (ctx, { path }) => getInvoice(ctx, path.invoice_id),
} satisfies Partial<Operations>;
