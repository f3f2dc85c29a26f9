import { isoTime } from '../../platform/clock.ts';
import type { BillingObject, BillingPlan, InvoiceListItem, InvoiceObject } from '../../contract/index.ts';
import { planNamed, type Plan } from '../../platform/config/index.ts';
import type { Page } from '../../platform/db/index.ts';
import { notFound } from '../../platform/refusal.ts';
import type { Ctx } from '../../tenancy/access/index.ts';
import { findTeam } from '../../tenancy/teams/index.ts';
import { findInvoice, invoicePage, type InvoiceRow } from './billing.store.ts';
import { findSubscription } from './subscriptions.store.ts';
import { defused, quoted } from '../../protocol/csv/index.ts';

const TITLES = ['number', 'issued_at', 'period_start', 'period_end', 'billed_to', 'kind', 'plan_code', 'description'];
const AMOUNTS = ['quantity', 'unit', 'price_cents', 'amount_cents', 'currency'];

/** Formats one row per line; a value that a spreadsheet would take for a formula gets an apostrophe in front. */
export function invoiceCsv(invoice: InvoiceObject): string {
  const { number, issued_at: issuedAt, period_start: from, period_end: to, billed_to: team, currency } = invoice;
  const rows = invoice.lines.map((line) => [
    number,
    issuedAt,
    from,
    to,
    team,
    line.kind,
    line.plan_code,
    line.description,
    line.quantity,
    line.unit,
    line.price_cents,
    line.amount_cents,
    currency,
  ]);
  return [[...TITLES, ...AMOUNTS], ...rows]
    .map((cells) => `${cells.map((cell) => quoted(defused(String(cell)))).join(',')}\r\n`)
    .join('');
}

/** `provider` is the name of the payment provider. */
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

/** Lists the configured plans, which a team may be given. */
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

/** Stored content of an invoice, without its id, number and date. */
export type InvoiceContent = Omit<InvoiceObject, 'object' | 'id' | 'number' | 'issued_at'>;

function presentInvoice(row: InvoiceRow): InvoiceObject {
  const content = JSON.parse(row.content) as InvoiceContent;
  const { id, number } = row;
  return { object: 'invoice', id, number, issued_at: isoTime(Number(row.issued_at)), ...content };
}

/** Formats an invoice without its lines. */
function presentListed(row: InvoiceRow): InvoiceListItem {
  const { object: _, lines: __, ...item } = presentInvoice(row);
  return item;
}

const presentPlan = (code: string, plan: Plan): BillingPlan => ({
  code,
  name: plan.name,
  monthly_price_cents: plan.monthly_price_cents,
  included_emails: plan.included_emails,
  overage_per_1000_cents: plan.overage_per_1000_cents,
  overage_emails: plan.overage_emails,
});
